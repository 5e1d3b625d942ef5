// Prometheus' view of the example: a scrape has the metrics, the dashboard asks for no others, and each expression has a value.
#include <support/prometheus_server.hpp>
#include <support/wait_until.hpp>

#include "example_scene.hpp"

#include <csignal>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

namespace colock::test::example_metrics_test {

namespace {

double value(const std::string& text, const std::string& metric)
{
    const auto at = text.find('\n' + metric + ' ');
    return at == std::string::npos ? -1 : std::stod(text.substr(at + metric.size() + 2));
}

std::set<std::string> names(const std::string& text)
{
    static const std::regex name{"colock_[a-z_]+"};
    std::set<std::string> all;
    for (std::sregex_iterator at{text.begin(), text.end(), name}; at != std::sregex_iterator{};
         ++at) {
        all.insert(at->str());
    }
    return all;
}

// Without what the program `colock` tells.
std::string file(const std::string& name)
{
    std::ifstream in{std::string{COLOCK_ROOT} + name};
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    for (auto at = text.find("\n## What `colock "); at != text.npos;
         at = text.find("\n## What `colock ", at)) {
        const auto next = text.find("\n## ", at + 1);
        text.erase(at, next == text.npos ? next : next - at);
    }
    return text;
}

// What the dashboard shows, and what the alerts of the page compare.
void ask_prometheus(std::uint16_t port)
{
    if (find_program("prometheus").empty()) {
        BOOST_TEST_MESSAGE("skipped: there is no prometheus");
        return;
    }
    auto wanted = expressions_of_dashboard(file("/examples/metrics/grafana-dashboard.json"));
    BOOST_TEST(wanted.size() > 20U);
    const auto shown = wanted.size();
    auto alerts = file("/docs/metrics.md");
    alerts.erase(0, alerts.find("## What to alert on"));
    alerts.erase(alerts.find("\n## "));
    static const std::regex expression{R"(\n\|[^|]+\| `([^`]+)` \|)"};
    for (const auto& alert : matches(alerts, expression)) {
        wanted.push_back(std::regex_replace(alert, std::regex{":15s"}, ":1s"));
    }
    BOOST_TEST(wanted.size() == shown + 9);
    const prometheus_server prometheus{port};
    for (const auto& each : wanted) {
        BOOST_TEST(wait_until([&] { return !prometheus.ask(compared_by(each)).empty(); }, 60s),
                   each);
    }
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(example_metrics, example_scene)

BOOST_AUTO_TEST_CASE(a_scrape_shows_what_the_locks_do)
{
    example p{"metrics", {"0", server.hosts()}};
    const auto port = static_cast<std::uint16_t>(std::stoi(p.line_after("metrics at port ")));
    std::string text;
    BOOST_TEST(wait_until(
        [&] {
            text = http_get(port, "/metrics");
            return value(text, "colock_hold_seconds_count") >= 20;
        },
        30s));
    BOOST_TEST(value(text, "colock_acquisitions_total{outcome=\"granted\"}") >= 20);
    BOOST_TEST(value(text, "colock_acquisitions_total{outcome=\"failed\"}") == 0);
    BOOST_TEST(value(text, "colock_grants_total") > value(text, "colock_server_grants_total"));
    BOOST_TEST(value(text, "colock_losses_total{reason=\"session_expired\"}") == 0);
    BOOST_TEST(value(text, "colock_hold_seconds_sum") >= 0.2);
    BOOST_TEST(value(text, "colock_hold_seconds_bucket{le=\"+Inf\"}") ==
               value(text, "colock_hold_seconds_count"));
    BOOST_TEST(value(text, "colock_safe_for_seconds") > 1);
    BOOST_TEST(value(text, "colock_connected") == 1);
    BOOST_TEST(value(text, "colock_path_granted_total{path=\"/locks/orders\"}") >= 20);

    // The dashboard, and the page, name metrics that are there.
    const auto exported = names(text);
    for (const auto* page : {"/examples/metrics/grafana-dashboard.json", "/docs/metrics.md"}) {
        const auto wanted = names(file(page));
        BOOST_TEST(wanted.size() > 10U);
        for (const auto& each : wanted) {
            BOOST_TEST(exported.contains(each), page << ": " << each);
        }
    }
    // And the page each one of them.
    const auto told = names(file("/docs/metrics.md"));
    for (const auto& each : exported) {
        static const std::regex part{"_(bucket|sum|count)$"};
        BOOST_TEST(told.contains(std::regex_replace(each, part, "")), each);
    }
    ask_prometheus(port);
    p.send_signal(SIGTERM);
    BOOST_TEST(p.wait().success());
}

BOOST_AUTO_TEST_CASE(its_work_goes_on_after_an_outage)
{
    example p{"metrics", {"0", server.hosts()}};
    const auto port = static_cast<std::uint16_t>(std::stoi(p.line_after("metrics at port ")));
    const auto outcomes = [port](const std::string& outcome) {
        return value(http_get(port, "/metrics"),
                     "colock_acquisitions_total{outcome=\"" + outcome + "\"}");
    };
    BOOST_REQUIRE(wait_until([&] { return outcomes("granted") >= 20; }, 30s));
    server.refuse();
    server.cut();
    // Four coroutines: each of them has tried again.
    BOOST_TEST(wait_until([&] { return outcomes("failed") >= 12; }, 30s));
    const auto before = outcomes("granted");
    server.refuse(false);
    BOOST_TEST(wait_until([&] { return outcomes("granted") >= before + 20; }, 30s));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::example_metrics_test
