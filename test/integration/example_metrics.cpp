// Prometheus' view of the example: a scrape has the metrics, the dashboard asks for no others, and each expression has a value.
#include <support/prometheus_server.hpp>
#include <support/temporary_directory.hpp>
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

std::vector<std::string> alerts_of_page()
{
    auto alerts = file("/docs/metrics.md");
    alerts.erase(0, alerts.find("## What to alert on"));
    alerts.erase(alerts.find("\n## "));
    static const std::regex expression{R"(\n\|[^|]+\| `([^`]+)` \|)"};
    return matches(alerts, expression);
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
    for (const auto& alert : alerts_of_page()) {
        wanted.push_back(std::regex_replace(alert, std::regex{":15s"}, ":1s"));
    }
    BOOST_TEST(wanted.size() == shown + 9);
    const prometheus_server prometheus{port};
    for (const auto& each : wanted) {
        BOOST_TEST(wait_until([&] { return !prometheus.ask(compared_by(each)).empty(); }, 60s),
                   each);
    }
}

// For promtool: no alert by one scrape that differs from the others, one when all differ.
std::string alert_test(const std::string& expression, const std::string& metric,
                       const std::string& good, const std::string& bad)
{
    const auto series = [&](const std::string& values) {
        return "  - interval: 15s\n    input_series: [{series: " + metric + ", values: " + values +
               "}, {series: colock_grants_total, values: 7x90}]\n    promql_expr_test:\n";
    };
    const auto gives = [&](const std::string& when, const std::string& samples) {
        return "      - {expr: '" + expression + "', eval_time: " + when + ", exp_samples: [" +
               samples + "]}\n";
    };
    return series(good + "x30 " + bad + ' ' + good + "x40") + gives("7m45s", "") +
           gives("8m15s", "") + gives("12m", "") + series(good + "x30 " + bad + "x40") +
           gives("15m", "{value: " + bad + ", labels: '{}'}");
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
    check_nothing_left();
}

struct no_server {};

BOOST_FIXTURE_TEST_CASE(one_scrape_is_no_alert_of_the_page, no_server)
{
    const auto tool = find_program("promtool");
    if (tool.empty()) {
        BOOST_TEST_MESSAGE("skipped: there is no promtool");
        return;
    }
    struct gauge {
        std::string name, good, bad;
    };
    std::string tests = "evaluation_interval: 15s\ntests:\n";
    std::size_t found = 0;
    for (const auto& alert : alerts_of_page()) {
        for (const auto& [name, good, bad] :
             {gauge{"colock_shards_owned", "512", "511"}, gauge{"colock_connected", "1", "0"},
              gauge{"colock_waiting", "0", "1"}}) {
            if (alert.find(name) != alert.npos) {
                tests += alert_test(alert, name, good, bad);
                ++found;
            }
        }
    }
    BOOST_TEST(found == 3U);
    const temporary_directory files;
    const auto written = files.path() + "/alerts.yml";
    std::ofstream{written} << tests;
    subprocess p{{tool, "test", "rules", written}};
    BOOST_TEST(p.wait().success(), tests);
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
