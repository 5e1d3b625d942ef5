// `colock root`: makes a place for locks that other users of the ensemble cannot write to.
#include <colock/diagnostics.hpp>
#include <colock/lock_root.hpp>
#include <colock/log.hpp>

#include "connect/awaiting.hpp"
#include "connect/identities.hpp"
#include "connect/path_argument.hpp"
#include "connect/patience.hpp"
#include "connect/run_client.hpp"
#include "names/node_path.hpp"
#include "program/exit_status.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::cli {

namespace {

namespace asio = boost::asio;

struct root_options {
    server_options servers;
    std::string path;
    allowed others;
    bool takes_over = false;
};

// The servers do not say which.
failure failure_to_set(const error_code& ec, const diagnostics& why, const root_options& o)
{
    if (ec != zookeeper_errc::invalid_acl) {
        return failure_of(ec, why.message());
    }
    std::string those;
    for (const auto* const each : {&o.others.all, &o.others.readers}) {
        for (const auto& text : *each) {
            those += (those.empty() ? "" : ", ") + printable(text);
        }
    }
    return {refused, "the servers refuse the list: one of " +
                         (those.empty() ? "its identities" : those) +
                         " has a scheme that they do not know, or is no identity of it"};
}

struct taken_over {
    std::size_t replaced = 0;
    std::size_t kept = 0;   // lists that only others may replace, or that no request can name
    std::string first_kept; // of which node
};

// From the top down: a list is replaced when nobody else can write to the parent any more. What others have created there
// stays, with the new list, or with one that this client may not replace: that keeps no other node open.
asio::awaitable<taken_over> replace_lists(client& zk, const root_options& o,
                                          access_control_list list)
{
    taken_over all;
    std::vector<std::string> left{o.path};
    while (!left.empty()) {
        const auto path = std::move(left.back());
        left.pop_back();
        diagnostics why;
        const auto [ec] = co_await zk.async_set_acl(path, list, bind_diagnostics(why, no_throw));
        if (ec == zookeeper_errc::no_node) {
            continue; // a contender that has gone, say; or all are still to be made
        }
        if (path != o.path && (ec == zookeeper_errc::no_auth || ec == errc::invalid_path)) {
            all.first_kept = all.kept++ == 0 ? path : all.first_kept;
            continue;
        }
        if (ec) {
            throw failure_to_set(ec, why, o);
        }
        ++all.replaced;
        auto [unlisted, below] = co_await zk.async_children(path, bind_diagnostics(why, no_throw));
        if (unlisted && unlisted != zookeeper_errc::no_node) {
            throw failure_of(unlisted, why.message());
        }
        for (const auto& name : below.names) {
            if (path != "/" || name != "zookeeper") { // the servers' own
                left.push_back(child_of(path, name));
            }
        }
    }
    co_return all;
}

std::string words_on(const access_control_list& list)
{
    std::string all, readers;
    for (const auto& e : list) {
        auto& to = e.permissions == permission_read ? readers : all;
        to += (to.empty() ? "" : ", ") + printable(name_of(e));
    }
    return all + " may use it" + (readers.empty() ? "" : "; " + readers + " may read");
}

asio::awaitable<int> make_root(client& zk, const root_options& o)
{
    auto list = creator_acl();
    for (auto& e : entries_of(o.others)) {
        list.push_back(std::move(e));
    }
    const auto path = printable(o.path);
    taken_over taken;
    if (o.takes_over) {
        taken = co_await replace_lists(zk, o, list);
        std::cout << taken.replaced << (taken.replaced == 1 ? " list" : " lists") << " replaced\n"
                  << std::flush;
    }
    diagnostics why;
    const auto [ec] =
        co_await async_ensure_lock_root(zk, o.path, list, bind_diagnostics(why, no_throw));
    const bool is_about_node =
        ec == errc::unprotected || ec == zookeeper_errc::no_auth || ec == errc::invalid_path;
    if (taken.kept != 0 && (!ec || is_about_node)) {
        throw failure{
            refused,
            printable(taken.first_kept, 256) +
                (taken.kept == 1 ? " keeps its list"
                                 : " and " + std::to_string(taken.kept - 1) + " more keep theirs") +
                ", which this client may not replace, nor those below; the lists of the "
                "other nodes are replaced. Have it deleted by its owner, or an "
                "administrator of the servers, and run this again, which checks the rest"};
    }
    if (ec == errc::unprotected) {
        throw failure{refused, in_own_words(printable(why.message(), longest_line))};
    }
    if (ec) {
        throw failure_to_set(ec, why, o);
    }
    auto [unread, made] = co_await zk.async_get_acl(o.path, no_throw);
    std::cout << path << " is a root that stays; " << words_on(unread ? list : made.acl) << '\n'
              << std::flush;
    co_return success;
}

} // namespace

void add_root(program& p)
{
    auto& c = p.add(
        {.name = "root",
         .synopsis = "[options] PATH",
         .summary = "make a place for locks that others cannot write to",
         .description =
             "Creates the node PATH, below which only we, and those whom --allow and --allow-auth "
             "name, can create, change or delete anything, and which others cannot delete; or "
             "checks that it is such a node. Whoever uses locks there needs an identity (--auth, "
             "--sasl or --tls-cert), and gives `colock run` the option --acl parent: their nodes "
             "get the list of the root. PATH may also be the chroot that follows the servers in "
             "--servers.\n\n"
             "Run it again at any time. It changes nothing that is there but what is below "
             "`.keep`, unless --take-over is given.",
         .examples =
             {{"colock root --auth orders.auth /locks/orders", "for ourselves alone"},
              {"colock root --auth admin.auth --allow-auth orders.auth --allow-auth stock.auth "
               "/locks/shop",
               "an administrator, for two programs"},
              {"colock root --tls-ca ca.pem --tls-cert admin.pem --tls-key admin.key --allow "
               "x509:CN=orders,O=shop /apps/shop",
               "a chroot, for whoever has that certificate"}},
         .statuses = {{"122", "Refused: a permission is missing; or the node exists, and its list, "
                              "or that of a node below it, lets others in."}}});
    const auto o = std::make_shared<root_options>();
    add_path(*c.options, o->path, "the node to make, such as /locks/orders")->required();
    c.options
        ->add_option("--allow", o->others.all,
                     "who else may use it, as the servers name them: SCHEME:ID, such as "
                     "x509:CN=orders,O=shop; may be repeated")
        ->type_name("ID")
        ->allow_extra_args(false);
    c.options
        ->add_option("--allow-auth", o->others.all_files,
                     "the same: a file as --auth has it, with lines \"digest user:password\"; may "
                     "be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
    c.options
        ->add_option("--allow-read", o->others.readers,
                     "who may see who holds a lock, and nothing else: SCHEME:ID, or world:anyone; "
                     "may be repeated")
        ->type_name("ID")
        ->allow_extra_args(false);
    c.options->add_flag("--take-over", o->takes_over,
                        "PATH exists: replace its list, and those of all nodes below it; whoever "
                        "uses locks there without being allowed loses them. What others have "
                        "created there stays: look at it before");
    add_server_options(*c.options, o->servers);
    c.run = [o] {
        const auto options = to_client_options(o->servers);
        if (!shows_identity(options)) {
            throw failure{usage,
                          "a root is for those who show who they are: give --auth, --sasl or "
                          "--tls-cert"};
        }
        return run_client(
            options, [&](client& zk) { return while_connected(zk, options, make_root(zk, *o)); });
    };
}

} // namespace colock::cli
