// Forward declarations of the public types.
#ifndef COLOCK_FWD_HPP
#define COLOCK_FWD_HPP

namespace colock {

class client;
struct client_options;
struct client_stats;
class election;
struct election_options;
class fencing_token;
class held_lock;
struct layout;
class leadership;
class lock_entry;
struct lock_options;
class lock_owner;
class multi_guard;
class multi_lock;
class mutex;
class permit;
struct node_stat;
struct queue_view;
class recursive_lock;
class recursive_mutex;
class semaphore;
class shared_lock;
class shared_mutex;
class single_node_mutex;
class unique_lock;
class watch;

namespace detail {
class borrowed_client;
class client_core;
class held_nodes;
class local_queue;
class lock_list;
class lock_path;
class lock_target;
class recursion;
class owner_state;
class contender_driver;
class semaphore_path;
class semaphore_state;
class watch_state;
struct body_reports;
class first_loss;
struct access;
struct candidacy;
} // namespace detail

} // namespace colock

#endif
