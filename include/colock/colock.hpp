// Everything but fences and the kit for tests.
#ifndef COLOCK_COLOCK_HPP
#define COLOCK_COLOCK_HPP

#include <colock/barrier.hpp>
#include <colock/body.hpp>
#include <colock/client.hpp>
#include <colock/client_options.hpp>
#include <colock/client_state.hpp>
#include <colock/diagnostics.hpp>
#include <colock/election.hpp>
#include <colock/error.hpp>
#include <colock/fencing_token.hpp>
#include <colock/group.hpp>
#include <colock/held_lock.hpp>
#include <colock/histogram.hpp>
#include <colock/latch.hpp>
#include <colock/layout.hpp>
#include <colock/leadership.hpp>
#include <colock/lock_options.hpp>
#include <colock/lock_root.hpp>
#include <colock/log.hpp>
#include <colock/multi_guard.hpp>
#include <colock/multi_lock.hpp>
#include <colock/mutex.hpp>
#include <colock/node.hpp>
#include <colock/observer.hpp>
#include <colock/permit.hpp>
#include <colock/queue_view.hpp>
#include <colock/recursive_lock.hpp>
#include <colock/recursive_mutex.hpp>
#include <colock/semaphore.hpp>
#include <colock/shards.hpp>
#include <colock/shared_lock.hpp>
#include <colock/shared_mutex.hpp>
#include <colock/single_node_mutex.hpp>
#include <colock/transaction.hpp>
#include <colock/unique_lock.hpp>
#include <colock/version.hpp>
#include <colock/watch.hpp>

#endif
