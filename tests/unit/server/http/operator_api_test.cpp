#include "sandbox/base/error.hpp"
#include "sandbox/base/sha256.hpp"
#include "server/http/operator_api.hpp"
#include "tests/unit/server/http/tenant_bench.hpp"
#include "tests/unit/server/options/options_bench.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <memory>
#include <string>

#include <sys/socket.h>
#include <sys/stat.h>

using namespace berth;               // NOLINT(google-build-using-namespace): the subject
using namespace berth::server::http; // NOLINT(google-build-using-namespace): the subject
using nlohmann::json;

namespace {

/// Operators, callers, and the sessions of a backend whose machines are files.
struct OperatorBench {
    explicit OperatorBench(const std::string& more = "")
    {
        options.http.token_file = file("tokens.toml", {{"caller", "alice"}, {"both", "eve"}});
        options.http.operator_token_file =
            file("operators.toml", {{"operator", "olga"}, {"both", "eve"}}, more);
        callers = std::make_unique<Callers>(options, [](const Caller&) {}, told);
        operators = std::make_unique<Operators>(options.http.operator_token_file, *callers, told);
        server::Given given;
        given.values["state_dir"] = {.items = {directory / "state"}, .origin = "test"};
        books = std::make_unique<Books>(
            server::make_options(given, [](const std::string&) { return std::nullopt; }), backend);
    }

    std::string file(const std::string& name,
                     const std::vector<std::pair<std::string, std::string>>& tokens,
                     const std::string& more = "") const
    {
        const auto path = directory / name;
        std::ofstream out(path);
        for (const auto& [token, principal] : tokens) {
            out << "[tokens." << token << "]\nprincipal = \"" << principal << "\"\nsha256 = \""
                << sha256_hex(token) << "\"\n"
                << more;
        }
        out.close();
        REQUIRE(::chmod(path.c_str(), 0600) == 0);
        return path;
    }

    transport::HttpAnswer ask(const std::string& method, const std::string& path,
                              const std::string& token = "operator", const std::string& query = "")
    {
        transport::HttpHead head;
        head.method = method;
        head.path = path;
        head.query = query;
        if (!token.empty()) {
            head.fields.emplace_back("authorization", "Bearer " + token);
        }
        OperatorApi api({.operators = *operators,
                         .books = [this](const std::string& name) -> Books& {
                             if (!name.empty()) {
                                 throw Error(ErrorCode::invalid_argument,
                                             "there is no backend " + name);
                             }
                             return *books;
                         },
                         .metrics = [] { return std::string("berth_info 1\n"); },
                         .open_metrics = open_metrics,
                         .audit = audit});
        REQUIRE(api.serves(path));
        auto admission = api.admit(head);
        if (admission.refusal) {
            return *std::move(admission.refusal);
        }
        std::shared_ptr<transport::HttpSocket> none;
        return api.answer({head, "", none, admission.context});
    }

    static std::string field(const transport::HttpAnswer& answer, const std::string& name)
    {
        for (const auto& [each, value] : answer.fields) {
            if (each == name) {
                return value;
            }
        }
        return "-";
    }

    TokenFile::Told told = [](const std::string&) {};
    berth::tests::TemporaryDirectory directory;
    server::Options options = server::tests::Bench().make();
    std::shared_ptr<berth::tests::FakeBackend> backend =
        std::make_shared<berth::tests::FakeBackend>(directory / "machines");
    std::unique_ptr<Callers> callers;
    std::unique_ptr<Operators> operators;
    std::unique_ptr<Books> books;
    bool open_metrics = false;
    std::shared_ptr<server::AuditLog> audit;
};

} // namespace

TEST_CASE("who shows an operator's token is one, and nobody else; one for both opens nothing")
{
    OperatorBench bench;
    CHECK(bench.ask("GET", "/sessions").status == 200);
    for (const auto* token : {"", "wrong"}) {
        const auto answer = bench.ask("GET", "/sessions", token);
        CHECK(answer.status == 401);
        CHECK(OperatorBench::field(answer, "WWW-Authenticate") ==
              "Bearer realm=\"berth operator\"");
        CHECK(json::parse(answer.body)["code"] == "authentication_required");
    }
    CHECK(bench.ask("GET", "/sessions", "caller").status == 403);
    CHECK(bench.ask("GET", "/sessions", "both").status == 403);
    transport::HttpHead head;
    head.fields.emplace_back("authorization", "Bearer both");
    CHECK(bench.operators->has_token(head));
    head.fields[0].second = "Bearer caller";
    CHECK_FALSE(bench.operators->has_token(head));
}

TEST_CASE("without a file of operators there is no operator's API")
{
    OperatorBench bench;
    Operators nobody("", *bench.callers, bench.told);
    OperatorApi api({.operators = nobody,
                     .books = [&](const std::string&) -> Books& { return *bench.books; },
                     .metrics = [] { return std::string(); }});
    CHECK_FALSE(api.serves("/sessions"));
    CHECK_FALSE(api.serves("/status"));
    transport::HttpHead head;
    head.fields.emplace_back("authorization", "Bearer operator");
    CHECK_FALSE(nobody.has_token(head));
    CHECK(nobody.identify(head).standing == Operators::Standing::unknown);
}

TEST_CASE("an operator has no sessions, so no profile either")
{
    CHECK_THROWS_WITH_AS(OperatorBench("profile = \"ci\"\n"), doctest::Contains("operator"), Error);
}

TEST_CASE("an operator sees the sessions of all and ends them, by what the list shows")
{
    OperatorBench bench;
    const session::SessionId work{"ann", "work", {}};
    (void)bench.books->sessions.acquire(work);
    const auto list = json::parse(bench.ask("GET", "/sessions").body);
    REQUIRE(list.size() == 1);
    CHECK(list[0]["principal"] == "ann");
    const auto key = list[0]["key"].get<std::string>();
    const auto shown = bench.ask("GET", "/sessions/" + key);
    CHECK(shown.status == 200);
    CHECK(json::parse(shown.body)["session"] == "work");
    CHECK(bench.ask("GET", "/sessions/work").status == 404); // a name is one of a principal's
    CHECK(bench.ask("GET", "/sessions/work", "operator", "principal=ann").status == 200);
    CHECK(json::parse(bench.ask("GET", "/status").body)["sessions"] == 1);

    const auto ended = bench.ask("DELETE", "/sessions/" + key);
    CHECK(ended.status == 200);
    CHECK(json::parse(ended.body)["killed"] == true);
    const auto again = bench.ask("DELETE", "/sessions/" + key);
    CHECK(again.status == 409);
    CHECK(json::parse(again.body)["code"] == "conflict");
    CHECK(bench.ask("POST", "/sessions/" + key + "/pause").status == 409);
    CHECK(bench.ask("DELETE", "/sessions/" + key, "operator", "purge=true").status == 200);
    CHECK(bench.ask("GET", "/sessions/" + key).status == 404);
    CHECK(bench.ask("POST", "/sessions/" + key + "/resume").status == 404);
}

TEST_CASE("a key is no name that a caller has made up to be it")
{
    OperatorBench bench;
    const session::SessionId victim{"ann", "work", {}};
    (void)bench.books->sessions.acquire(victim);
    const auto key = session::key_hash(victim);
    (void)bench.books->sessions.acquire({"", key, {}});
    CHECK(json::parse(bench.ask("GET", "/sessions/" + key).body)["principal"] == "ann");
}

TEST_CASE("what an operator may not ask is told with its status, and a method with those there are")
{
    OperatorBench bench;
    const auto wrong = bench.ask("POST", "/sessions");
    CHECK(wrong.status == 405);
    CHECK(OperatorBench::field(wrong, "Allow") == "GET");
    CHECK(bench.ask("GET", "/sessions/a/b").status == 404);
    CHECK(bench.ask("DELETE", "/sessions/a", "operator", "purg=true").status == 400);
    CHECK(bench.ask("GET", "/sessions", "operator", "backend=none").status == 400);
    bench.backend->available = false;
    const auto status = bench.ask("GET", "/status");
    CHECK(status.status == 200);
    CHECK(json::parse(status.body)["available"] == false);
}

TEST_CASE("of one operator so many requests are at work at once")
{
    OperatorBench bench("calls = 1\n");
    transport::HttpHead head;
    head.fields.emplace_back("authorization", "Bearer operator");
    const auto who = bench.operators->identify(head).who;
    REQUIRE(who);
    ++who->account->calls;
    const auto busy = bench.ask("GET", "/sessions");
    CHECK(busy.status == 429);
    CHECK(OperatorBench::field(busy, "Retry-After") == "1");
    --who->account->calls;
    CHECK(bench.ask("GET", "/sessions").status == 200);
}

TEST_CASE("metrics are the operators', unless they are open to all, who see nothing else then")
{
    OperatorBench bench;
    CHECK(bench.ask("GET", "/metrics", "").status == 401);
    CHECK(bench.ask("GET", "/metrics", "caller").status == 403);
    const auto answer = bench.ask("GET", "/metrics");
    CHECK(answer.body == "berth_info 1\n");
    CHECK(answer.type == "text/plain; version=0.0.4; charset=utf-8");
    bench.open_metrics = true;
    CHECK(bench.ask("GET", "/metrics", "").status == 200);
    CHECK(bench.ask("POST", "/metrics", "").status == 405);
    CHECK(bench.ask("GET", "/sessions", "").status == 401);
}
