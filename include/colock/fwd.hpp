// Forward declarations of the public types.
#ifndef COLOCK_FWD_HPP
#define COLOCK_FWD_HPP

namespace colock {

class client;
struct client_options;
struct client_stats;
class detached_lock;
class election;
struct election_options;
class fencing_token;
class held_lock;
struct layout;
struct lock_options;
class lock_owner;
class mutex;
struct node_stat;
struct queue_view;
class recursive_mutex;
class shared_lock;
class shared_mutex;
class unique_lock;
class watch;

namespace detail {
class client_core;
class local_queue;
class lock_path;
class nest;
class owner_state;
class queue_member;
class watch_state;
struct body_reports;
struct core_access;
struct candidacy;
struct nesting;
template <class Guard, class Handler>
class granting;
} // namespace detail

} // namespace colock

#endif
