// What servers answer.
#include "frames.hpp"
#include "types.hpp"

namespace colock::testing {

namespace {

void put(jute_writer& out, const node_stat& s)
{
    out.longer(s.czxid).longer(s.mzxid).longer(s.ctime).longer(s.mtime);
    out.integer(s.version).integer(s.cversion).integer(s.aversion).longer(s.ephemeral_owner);
    out.integer(s.data_length).integer(s.num_children).longer(s.pzxid);
}

void put(jute_writer& out, const std::vector<std::string>& names)
{
    out.count(names.size());
    for (const auto& name : names) {
        out.text(name);
    }
}

void put(jute_writer& out, const access_control_list& acl)
{
    out.count(acl.size());
    for (const auto& e : acl) {
        out.integer(e.permissions).text(e.scheme).text(e.id);
    }
}

void put_body(jute_writer& out, const answer_shape& shape, const simulated::response& r)
{
    switch (shape.type) {
    case type::create: out.text(r.text); break;
    case type::create2:
    case type::create_container:
    case type::create_ttl:
    case type::get:
        out.text(r.text);
        put(out, r.stat);
        break;
    case type::exists:
    case type::set:
    case type::set_acl:
    case type::check: put(out, r.stat); break;
    case type::get_acl:
        put(out, r.acl);
        put(out, r.stat);
        break;
    case type::children2:
        put(out, r.names);
        put(out, r.stat);
        break;
    case type::children:
    case type::ephemerals: put(out, r.names); break;
    case type::sync: out.text(shape.path); break;
    case type::all_children_number: out.integer(static_cast<std::int32_t>(r.count)); break;
    case type::add_watch: out.integer(0); break; // an error, which there is none
    case type::who_am_i:
        out.count(r.acl.size());
        for (const auto& e : r.acl) {
            out.text(e.scheme).text(e.id);
        }
        break;
    default: break; // nothing to say
    }
}

void put_step(jute_writer& out, std::int32_t type, const simulated::step_result& r, bool failed)
{
    if (failed) {
        out.integer(type::error).boolean(false).integer(r.error.value()).integer(r.error.value());
        return;
    }
    if (type == type::create_container || type == type::create_ttl) {
        type = type::create2; // of a result there are only these two
    }
    out.integer(type).boolean(false).integer(0);
    if (type != type::check) { // which says more when it stands alone
        put_body(out, {.type = type}, {.text = r.path, .stat = r.stat});
    }
}

void put_steps(jute_writer& out, const answer_shape& shape, const simulated::response& r)
{
    for (std::size_t i = 0; i != r.results.size(); ++i) {
        put_step(out, shape.steps[i], r.results[i], bool{r.error});
    }
    out.integer(type::error).boolean(true).integer(-1);
}

} // namespace

std::string header_of(std::int32_t number, std::int64_t transaction, simulated::status error)
{
    std::string bytes;
    jute_writer{bytes}.integer(number).longer(transaction).integer(error.value());
    return bytes;
}

std::string frame_of(const simulated::connect_reply& r, bool tells_reading)
{
    std::string bytes;
    jute_writer out{bytes};
    out.integer(0).integer(static_cast<std::int32_t>(r.timeout.count())).longer(r.session.id);
    out.text({r.session.password.data(), r.session.password.size()});
    if (tells_reading) {
        out.boolean(false);
    }
    return bytes;
}

std::string frame_of(const simulated::event& e)
{
    constexpr std::int32_t connected = 3;
    auto bytes = header_of(xid::event, e.transaction);
    jute_writer{bytes}
        .integer(static_cast<std::int32_t>(e.what.type))
        .integer(connected)
        .text(e.what.path);
    return bytes;
}

// A transaction that was refused says why for each of its steps, after a header without an error.
std::string frame_of(const answer_shape& shape, const simulated::reply& r)
{
    const bool is_multi = shape.type == type::multi && r.body.results.size() == shape.steps.size();
    auto bytes =
        header_of(shape.number, r.transaction, is_multi ? simulated::status{} : r.body.error);
    jute_writer out{bytes};
    if (is_multi) {
        put_steps(out, shape, r.body);
    } else if (!r.body.error) {
        put_body(out, shape, r.body);
    }
    return bytes;
}

} // namespace colock::testing
