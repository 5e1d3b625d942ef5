#include "lock/holder_query.hpp"

#include "names/contender_name.hpp"
#include "names/path.hpp"
#include "names/revocation.hpp"
#include "queue/blocking_rule.hpp"

#include <algorithm>
#include <utility>

namespace colock::detail {

namespace {

void read_holder(const std::shared_ptr<client_core>& core, std::string node,
                 std::optional<std::size_t> before_own,
                 std::function<void(std::optional<asked_holder>)> then)
{
    core->submit(make_request(
        {.op = zk::opcode::get, .path = std::move(node)}, on_loss::fail,
        [core, before_own, then = std::move(then)](zk::reply&& r) {
            const auto data = protocol::without_mark(r.text);
            then(r.error || data == protocol::revocation_request // which hides whose node it is
                     ? std::nullopt
                     : std::optional{
                           asked_holder{.data = std::string{data.substr(0, most_of_owner_data)},
                                        .own = r.stat.ephemeral_owner == core->session(),
                                        .before_own = before_own,
                                        .when = boot_clock::now()}});
        }));
}

} // namespace

void ask_first_in_queue(const std::shared_ptr<client_core>& core, const std::string& directory,
                        const layout& l, std::string own_name,
                        std::function<void(std::optional<asked_holder>)> then)
{
    core->submit(make_request(
        {.op = zk::opcode::children, .path = directory}, on_loss::fail,
        [core, directory, l, own_name = std::move(own_name),
         then = std::move(then)](zk::reply&& r) {
            const auto queue = protocol::contenders(l, r.names);
            if (r.error || queue.empty()) {
                then(std::nullopt);
                return;
            }
            const auto own = std::ranges::find(queue, own_name, &protocol::entry::name);
            std::optional<std::size_t> before_own;
            if (own != queue.end()) {
                before_own =
                    protocol::blockers_of(queue, static_cast<std::size_t>(own - queue.begin()))
                        .count;
            }
            read_holder(core, protocol::join_path(directory, queue.front().name), before_own, then);
        }));
}

} // namespace colock::detail
