// Forward declarations of the public types.
#ifndef COLOCK_FWD_HPP
#define COLOCK_FWD_HPP

namespace colock {

struct acquisition_end;
struct acquisition_info;
struct acquisition_start;
class barrier;
class client;
struct client_options;
struct client_stats;
struct counter_node;
struct create_options;
struct credential;
class diagnostics;
class election;
struct election_options;
class fencing_token;
class group;
class held_lock;
struct heartbeat_answer;
struct histogram;
struct hold_end;
class latch;
struct layout;
class leadership;
class lock_entry;
struct lock_options;
class lock_owner;
struct member_options;
struct member_view;
class membership;
class multi_guard;
class multi_lock;
class mutex;
struct node_stat;
class observer;
class owned_shard;
struct owner_info;
class permit;
struct queue_entry;
struct queue_view;
class recursive_lock;
class recursive_mutex;
class semaphore;
struct shard_end;
struct shard_id;
struct shard_owner;
struct shard_start;
class shards;
struct shards_options;
class shared_lock;
class shared_mutex;
class single_node_mutex;
class transaction;
struct transaction_op;
class unique_lock;
struct view_options;
class watch;

namespace detail {
struct access;
struct body_reports;
class borrowed_client;
class client_core;
class contender_driver;
struct election_path;
class first_loss;
class local_queue;
class lock_list;
class lock_path;
class lock_target;
class owner_state;
class permit_lease;
class recursion;
class semaphore_path;
class watch_state;
} // namespace detail

} // namespace colock

#endif
