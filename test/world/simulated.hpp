// The servers of the world, and what all of it stands on: testing/ensemble.
#pragma once

#include "ensemble/access.hpp"
#include "ensemble/action.hpp"
#include "ensemble/ensemble.hpp"
#include "ensemble/fifo.hpp"
#include "ensemble/machine.hpp"
#include "ensemble/network.hpp"
#include "ensemble/random.hpp"
#include "ensemble/timeline.hpp"
#include "ensemble/transaction.hpp"
#include "ensemble/tree.hpp"
#include "ensemble/wire.hpp"

namespace colock::simulated {
class process; // world/process.hpp: a program in it
}

namespace world {

namespace ephemeral_owner = colock::simulated::ephemeral_owner;

using colock::simulated::action;
using colock::simulated::auth_reply;
using colock::simulated::auth_request;
using colock::simulated::basic_action;
using colock::simulated::change;
using colock::simulated::close_reply;
using colock::simulated::close_request;
using colock::simulated::connect_reply;
using colock::simulated::connect_request;
using colock::simulated::digest_of;
using colock::simulated::ensemble;
using colock::simulated::ensemble_options;
using colock::simulated::event;
using colock::simulated::fifo;
using colock::simulated::identities;
using colock::simulated::identity;
using colock::simulated::instant;
using colock::simulated::machine;
using colock::simulated::message;
using colock::simulated::network;
using colock::simulated::observer;
using colock::simulated::opcode;
using colock::simulated::operation;
using colock::simulated::pauses;
using colock::simulated::ping_reply;
using colock::simulated::ping_request;
using colock::simulated::process;
using colock::simulated::random;
using colock::simulated::reply;
using colock::simulated::request;
using colock::simulated::response;
using colock::simulated::session_identity;
using colock::simulated::status;
using colock::simulated::stream;
using colock::simulated::timeline;
using colock::simulated::transaction;
using colock::simulated::tree;
using colock::simulated::watch_kind;

} // namespace world
