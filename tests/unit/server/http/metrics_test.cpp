#include "sandbox/base/error.hpp"
#include "server/http/call_counts.hpp"
#include "server/http/metrics.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/server/http/tenant_bench.hpp"

#include <doctest/doctest.h>

#include <future>
#include <string>

#include <sys/socket.h>

using namespace berth;               // NOLINT(google-build-using-namespace): the subject
using namespace berth::server::http; // NOLINT(google-build-using-namespace): the subject
using std::chrono::microseconds;
using std::chrono::minutes;

namespace {

bool has_line(const std::string& text, const std::string& line)
{
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

std::string text_of(const CallCounts& counts)
{
    MetricText text;
    counts.write(text);
    return text.take();
}

class NoHandler final : public transport::HttpHandler {
  public:
    transport::HttpAdmission admit(const transport::HttpHead& /*head*/,
                                   const transport::HttpSocket& /*socket*/) override
    {
        return {};
    }

    transport::HttpAnswer answer(transport::HttpRequest /*request*/) override { return {}; }

    transport::HttpAnswer refuse(int status, const std::string& /*reason*/) override
    {
        return {.status = status};
    }
};

struct MetricsBench {
    Metrics make()
    {
        return Metrics({.backend = "fake",
                        .calls = counts,
                        .server = server,
                        .workers = bench.pool,
                        .tenants = tenants,
                        .legacy = legacy,
                        .sessions =
                            [this] {
                                ++asked;
                                if (!books) {
                                    throw Error(ErrorCode::sandbox_unavailable, "no books");
                                }
                                std::vector<session::SessionFacts> found(3);
                                found[0].state = found[1].state = "running";
                                found[2].state = "paused";
                                return found;
                            },
                        .unavailable = [this] { return why; }});
    }

    berth::tests::TenantBench bench;
    CallCounts counts;
    NoHandler handler;
    transport::HttpServer server{
        UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), handler, {}};
    Tenants tenants{[](const Caller&, const std::string&) -> std::unique_ptr<server::Application> {
                        throw Error(ErrorCode::internal, "none is made");
                    },
                    bench.pool, minutes(1)};
    LegacySessions legacy{bench.pool, minutes(1)};
    int asked = 0;
    bool books = true;
    std::string why;
};

} // namespace

TEST_CASE("calls are counted by tool and outcome, and their times fall into the buckets")
{
    CallCounts counts;
    counts.add("bash_exec", "ok", microseconds(1000));
    counts.add("bash_exec", "ok", microseconds(1001));
    counts.add("bash_exec", "busy", minutes(200));
    counts.add("read_file", "internal", microseconds(-1));
    const auto text = text_of(counts);
    CHECK(has_line(text, R"(berth_calls_total{tool="bash_exec",outcome="ok"} 2)"));
    CHECK(has_line(text, R"(berth_calls_total{tool="bash_exec",outcome="busy"} 1)"));
    CHECK(has_line(text, R"(berth_calls_total{tool="read_file",outcome="internal"} 1)"));
    CHECK(has_line(text, R"(berth_calls_total{tool="write_file",outcome="ok"} 0)"));
    const std::string of = R"(berth_call_duration_seconds_bucket{tool="bash_exec",le=)";
    CHECK(has_line(text, of + R"("0.001"} 1)"));
    CHECK(has_line(text, of + R"("0.0025"} 2)"));
    CHECK(has_line(text, of + R"("7200"} 2)"));
    CHECK(has_line(text, of + R"("+Inf"} 3)"));
    CHECK(has_line(text, R"(berth_call_duration_seconds_count{tool="bash_exec"} 3)"));
    CHECK(has_line(text, R"(berth_call_duration_seconds_sum{tool="bash_exec"} 12000.002001)"));
}

TEST_CASE("what is no tool and no outcome makes no numbers of its own")
{
    CallCounts counts;
    const auto before = text_of(counts);
    counts.add("rm -rf", "ok", microseconds(1));
    counts.add("bash_exec", "fine", microseconds(1));
    counts.add("bash_exec", "", microseconds(1));
    CHECK(text_of(counts) == before);
}

TEST_CASE("a label cannot end its line or itself")
{
    MetricText text;
    text.family("a", "gauge", "An a.");
    text.sample("a", {{"b", "c\"d\\e\nf"}, {"g", ""}}, 1.5);
    CHECK(text.take() == "# HELP a An a.\n# TYPE a gauge\n"
                         "a{b=\"c\\\"d\\\\e\\nf\",g=\"\"} 1.5\n");
    CHECK(metric_number(0.0025) == "0.0025");
    CHECK(metric_number(7200) == "7200");
}

TEST_CASE("sessions are counted by state, and their machines not asked with each question")
{
    MetricsBench bench;
    auto metrics = bench.make();
    const auto text = metrics.text();
    CHECK(has_line(text, R"(berth_sessions{state="running"} 2)"));
    CHECK(has_line(text, R"(berth_sessions{state="paused"} 1)"));
    CHECK(has_line(text, R"(berth_sessions{state="lost"} 0)"));
    CHECK(has_line(text, "berth_books_available 1"));
    CHECK(has_line(text, "berth_available 1"));
    CHECK(has_line(text, "berth_calls_in_flight_limit 64"));
    CHECK(has_line(text, "berth_http_connections 0"));
    CHECK(has_line(text, "berth_http_connections_limit 1024"));
    (void)metrics.text();
    CHECK(bench.asked == 1);
}

TEST_CASE("calls beyond those that are worked on are told as waiting, until they are not")
{
    constexpr int limit = 64;
    MetricsBench bench;
    auto metrics = bench.make();
    const auto shows = [&](int working, int waiting) {
        return [&metrics, working, waiting] {
            const auto text = metrics.text();
            return has_line(text, "berth_calls_in_flight " + std::to_string(working)) &&
                   has_line(text, "berth_calls_waiting " + std::to_string(waiting));
        };
    };
    CHECK(shows(0, 0)());
    std::promise<void> end;
    const auto ended = end.get_future().share();
    for (int i = 0; i < limit + 3; ++i) {
        bench.bench.pool.run([ended] { ended.wait(); });
    }
    CHECK(berth::tests::becomes_true(shows(limit, 3)));
    end.set_value();
    CHECK(berth::tests::becomes_true(shows(0, 0)));
}

TEST_CASE("metrics are there while nothing else is")
{
    MetricsBench bench;
    bench.books = false;
    bench.why = "no fakes";
    auto metrics = bench.make();
    const auto text = metrics.text();
    CHECK(has_line(text, "berth_available 0"));
    CHECK(has_line(text, "berth_books_available 0"));
    CHECK(text.find("berth_sessions{") == std::string::npos);
    CHECK(text.find("process_resident_memory_bytes ") != std::string::npos);
}

TEST_CASE("traffic counts each status, and none that is no status")
{
    transport::HttpTraffic traffic;
    for (const int status : {200, 404, 404, 599, 600, 99, -1}) {
        traffic.answered(status);
    }
    traffic.received(3);
    traffic.sent(4);
    std::string seen;
    traffic.for_each_status([&](int status, std::uint64_t count) {
        seen += std::to_string(status) + ":" + std::to_string(count) + " ";
    });
    CHECK(seen == "200:1 404:2 599:1 ");
    CHECK(traffic.bytes_received() == 3);
    CHECK(traffic.bytes_sent() == 4);
}
