// Spans for what locks do, in the words of OTLP's JSON, one a line. Copy this file into your program, and give the spans to
// your exporter instead. For each acquisition there is a span `acquire`, a child of the caller's span. For each hold there is
// a span `hold`. A link of `acquire` names the hold that the acquisition waited for:
//
//  - of this client, when it handed the lock off in memory;
//  - of another process, when the acquisition saw the node of the holder. The identifiers of a hold that the servers have
//    granted are made from the name of its node, so both processes know them.
//
// It is for a program that uses a bounded number of paths: the last hold of each stays in memory.
#pragma once

#include <colock/colock.hpp>

#include <cctype>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace otlp {

struct context {
    std::string trace; // 32 digits
    std::string span;  // 16 digits
};

// The caller's span. Real tracers keep it for each coroutine.
inline thread_local context current;

class spans final : public colock::observer {
public:
    explicit spans(std::ostream& out) : out_{out} {}

    void acquisition_began(const colock::acquisition_start& e) noexcept override
    {
        const std::lock_guard lock{mutex_};
        auto& a = open_[e.what.id];
        a.parent = current.span;
        a.acquire = {current.trace.empty() ? random_digits(32) : current.trace, random_digits(16)};
    }

    void acquisition_ended(const colock::acquisition_end& e) noexcept override
    {
        using enum colock::acquisition_outcome;
        const std::lock_guard lock{mutex_};
        auto& a = open_[e.what.id];
        const auto path = std::string{e.what.path};
        std::string link;
        if (const auto before = ended_.find(path); e.previous != 0 && before != ended_.end()) {
            link = link_to(before->second, {});
        } else if (const auto holder = hold_by(e.holder_node); !holder.span.empty()) {
            link = link_to(holder, attribute("colock.holder.node", e.holder_node) + ',' +
                                       attribute("colock.holder.owner", e.holder_owner));
        }
        print("acquire", a.acquire, a.parent, e.waited,
              attribute("colock.path", path) + ',' + attribute("colock.node", e.node), link,
              e.outcome == failed ? e.error.message() : std::string{});
        if (e.outcome != granted || e.what.kind == colock::acquisition_kind::multi_lock ||
            a.is_over) {
            open_.erase(e.what.id);
            return;
        }
        // The first hold by a node is known to those who see the node; those behind it, and readers that are granted
        // together with it, are its children.
        const auto by_node = hold_by(e.node);
        const bool by_servers =
            e.source == colock::grant_source::free || e.source == colock::grant_source::handed_over;
        const bool first = by_servers && std::exchange(nodes_[path], e.node) != e.node;
        a.hold = by_node.span.empty() ? context{a.acquire.trace, random_digits(16)}
                 : first              ? by_node
                                      : context{by_node.trace, random_digits(16)};
        a.parent = by_node.span.empty() ? a.acquire.span : first ? "" : by_node.span;
    }

    void hold_ended(const colock::hold_end& e) noexcept override
    {
        const std::lock_guard lock{mutex_};
        const auto at = open_.find(e.what.id);
        if (at == open_.end()) {
            return;
        }
        auto& a = at->second;
        if (a.hold.span.empty()) { // it was lost before the acquisition was told
            a.is_over = true;
            return;
        }
        print("hold", a.hold, a.parent, e.held, attribute("colock.path", e.what.path),
              link_to(a.acquire, {}), e.loss ? e.loss.message() : std::string{});
        ended_[std::string{e.what.path}] = a.hold; // the next one of this client waited for it
        open_.erase(at);
    }

private:
    struct acquisition {
        context acquire, hold;
        std::string parent;
        bool is_over = false;
    };

    void print(const char* name, const context& c, const std::string& parent,
               std::chrono::nanoseconds length, const std::string& attributes,
               const std::string& link, const std::string& failure)
    {
        const std::chrono::nanoseconds end = std::chrono::system_clock::now().time_since_epoch();
        out_ << R"({"traceId":")" << c.trace << R"(","spanId":")" << c.span
             << R"(","parentSpanId":")" << parent << R"(","name":")" << name
             << R"(","kind":1,"startTimeUnixNano":")" << (end - length).count()
             << R"(","endTimeUnixNano":")" << end.count() << R"(","attributes":[)" << attributes
             << R"(],"links":[)" << link << R"(],"status":{"code":)" << (failure.empty() ? 1 : 2)
             << R"(,"message":")" << escaped(failure) << "\"}}" << std::endl;
    }

    static std::string link_to(const context& c, const std::string& attributes)
    {
        return R"({"traceId":")" + c.trace + R"(","spanId":")" + c.span + R"(","attributes":[)" +
               attributes + "]}";
    }
    static std::string attribute(const char* key, std::string_view value)
    {
        return R"({"key":")" + std::string{key} + R"(","value":{"stringValue":")" + escaped(value) +
               "\"}}";
    }
    // Printable text, such as others' owner data, as a string of JSON.
    static std::string escaped(std::string_view text)
    {
        std::string all;
        for (const char c : colock::printable(text)) {
            all += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
        }
        return all;
    }

    // From the GUID in the name of the node; empty when there is none.
    static context hold_by(std::string_view node)
    {
        std::string digits;
        const auto from = node.rfind("_c_");
        for (std::size_t i = from + 3; from != node.npos && i < node.size() && digits.size() < 32;
             ++i) {
            if (std::isxdigit(static_cast<unsigned char>(node[i])) != 0) {
                digits += node[i];
            }
        }
        return digits.size() == 32 ? context{digits, digits.substr(0, 16)} : context{};
    }

    std::string random_digits(int n)
    {
        std::string all;
        while (n-- != 0) {
            all += "0123456789abcdef"[random_() % 16];
        }
        return all;
    }

    std::ostream& out_;
    std::mutex mutex_; // of what follows
    std::mt19937_64 random_{std::random_device{}()};
    std::map<std::uint64_t, acquisition> open_;
    std::map<std::string, context> ended_;     // the last hold of each path
    std::map<std::string, std::string> nodes_; // by which the servers have granted each path last
};

} // namespace otlp
