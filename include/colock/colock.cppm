// `import colock;`: the names of the public headers, as a module. An experiment: COLOCK_MODULE. The test `exported` compares.
// A module has no macros: COLOCK_VERSION is in <colock/version.hpp>, which may be included as well.
module;

#include <colock/colock.hpp>
#include <colock/fence/fenced.hpp>
#include <colock/fence/file.hpp>
#include <colock/fence/statements.hpp>

export module colock;

export namespace colock {
using colock::access_control_list;
using colock::acl_entry;
using colock::acl_result;
using colock::acquisition_end;
using colock::acquisition_info;
using colock::acquisition_kind;
using colock::acquisition_outcome;
using colock::acquisition_start;
using colock::acquisition_stats;
using colock::any_version;
using colock::associated_diagnostics;
using colock::async_ensure_lock_root;
using colock::async_revoke;
using colock::async_revoke_holders;
using colock::async_view_queue;
using colock::async_wait_position;
using colock::barrier;
using colock::bind_diagnostics;
using colock::body_end;
using colock::check_op;
using colock::children_result;
using colock::client;
using colock::client_options;
using colock::client_stats;
using colock::colock_category;
using colock::condition;
using colock::condition_category;
using colock::connection_state;
using colock::counter_node;
using colock::create_mode;
using colock::create_op;
using colock::create_options;
using colock::create_result;
using colock::creator_acl;
using colock::credential;
using colock::curator_latch_layout;
using colock::curator_layout;
using colock::curator_shared_layout;
using colock::default_owner_data;
using colock::diagnostics;
using colock::diagnostics_binder;
using colock::election;
using colock::election_options;
using colock::errc;
using colock::error_code;
using colock::fenced;
using colock::fencing_token;
using colock::for_reading;
using colock::for_reading_t;
using colock::get_result;
using colock::go_zookeeper_layout;
using colock::grant_source;
using colock::group;
using colock::heartbeat_answer;
using colock::held_lock;
using colock::histogram;
using colock::hold_end;
using colock::installed_session_guard;
using colock::is_retryable;
using colock::is_session_fatal;
using colock::kazoo_layout;
using colock::latch;
using colock::layout;
using colock::leadership;
using colock::lock_entry;
using colock::lock_options;
using colock::lock_owner;
using colock::lock_state;
using colock::log_level;
using colock::log_sink;
using colock::loss_stats;
using colock::make_error_code;
using colock::make_error_condition;
using colock::member_options;
using colock::member_view;
using colock::membership;
using colock::multi_guard;
using colock::multi_lock;
using colock::mutex;
using colock::named_layout;
using colock::node_stat;
using colock::observer;
using colock::open_acl;
using colock::operator<<;
using colock::outcome_unknown;
using colock::owned_shard;
using colock::owner_info;
using colock::parse_owner;
using colock::permission;
using colock::permit;
using colock::printable;
using colock::queue_entry;
using colock::queue_view;
using colock::read_only_acl;
using colock::recursive_lock;
using colock::recursive_mutex;
using colock::remove_op;
using colock::revocation_request;
using colock::safe_body;
using colock::sasl_options;
using colock::semaphore;
using colock::session_guard_options;
using colock::set_op;
using colock::shard_end;
using colock::shard_id;
using colock::shard_info;
using colock::shard_owner;
using colock::shard_start;
using colock::shard_stats;
using colock::shards;
using colock::shards_options;
using colock::shared_lock;
using colock::shared_mutex;
using colock::single_node_mutex;
using colock::swap;
using colock::time_stats;
using colock::tls_verification;
using colock::to_string;
using colock::transaction;
using colock::transaction_op;
using colock::transaction_result;
using colock::unique_lock;
using colock::view_options;
using colock::watch;
using colock::watch_event;
using colock::watch_event_type;
using colock::watched;
using colock::zookeeper_category;
using colock::zookeeper_errc;
using colock::zookeeper_recipe_layout;
} // namespace colock

export namespace colock::fence {
using colock::fence::accepts;
using colock::fence::code_of;
} // namespace colock::fence

export namespace colock::fence::file {
using colock::fence::file::present;
using colock::fence::file::replace;
} // namespace colock::fence::file

export namespace colock::fence::mariadb {
using colock::fence::mariadb::add;
using colock::fence::mariadb::column;
using colock::fence::mariadb::limits;
using colock::fence::mariadb::present;
using colock::fence::mariadb::table;
} // namespace colock::fence::mariadb

export namespace colock::fence::postgresql {
using colock::fence::postgresql::column;
using colock::fence::postgresql::limits;
using colock::fence::postgresql::present;
using colock::fence::postgresql::table;
} // namespace colock::fence::postgresql

export namespace colock::fence::redis {
using colock::fence::redis::present;
using colock::fence::redis::refused;
} // namespace colock::fence::redis

export namespace colock::fence::sqlite {
using colock::fence::sqlite::column;
using colock::fence::sqlite::present;
using colock::fence::sqlite::table;
} // namespace colock::fence::sqlite
