#include "server/http/operator_request.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth::server::http; // NOLINT(google-build-using-namespace): the subject
using berth::transport::HttpError;
using What = OperatorRequest::What;

namespace {

OperatorRequest read(const std::string& method, const std::string& path,
                     const std::string& query = "")
{
    berth::transport::HttpHead head;
    head.method = method;
    head.path = path;
    head.query = query;
    return read_operator_request(head);
}

/// With what it is refused; 0: it is not.
int status(const std::string& method, const std::string& path, const std::string& query = "")
{
    try {
        (void)read(method, path, query);
        return 0;
    } catch (const HttpError& error) {
        return error.status();
    }
}

} // namespace

TEST_CASE("an operator's request is what its method and its address say")
{
    CHECK(read("GET", "/sessions").what == What::list);
    CHECK(read("GET", "/status").what == What::status);
    CHECK(read("GET", "/metrics").what == What::metrics);
    CHECK(read("GET", "/sessions/a").what == What::show);
    CHECK(read("POST", "/sessions/a/pause").what == What::pause);
    CHECK(read("POST", "/sessions/a/resume").what == What::resume);
    const auto ended = read("DELETE", "/sessions/a%2Fb%20c",
                            "purge=true&save=false&principal=al+ice%2B&backend=e2b");
    CHECK(ended.what == What::end);
    CHECK(ended.key == "a/b c");
    CHECK(ended.principal == "al ice+");
    CHECK(ended.backend == "e2b");
    CHECK(ended.purge);
    CHECK_FALSE(ended.save);
    const auto plain = read("DELETE", "/sessions/a+b");
    CHECK(plain.key == "a+b"); // of a path a plus is one
    CHECK_FALSE(plain.purge);
    CHECK(plain.save);
}

TEST_CASE("what an operator's request does not say clearly is not done")
{
    for (const auto* path : {"/sessions/", "/sessions//", "/sessions//pause", "/sessions/a/",
                             "/sessions/a/end", "/sessions/a/pause/b", "/status/x", "/metrics/"}) {
        CAPTURE(path);
        CHECK(status("GET", path) == 404);
    }
    CHECK(status("POST", "/sessions") == 405);
    CHECK(status("PUT", "/sessions/a") == 405);
    CHECK(status("GET", "/sessions/a/pause") == 405);
    CHECK(allowed_methods("/sessions/a") == "GET, DELETE");
    CHECK(allowed_methods("/sessions/a/resume") == "POST");
    CHECK(allowed_methods("/sessions/") == "");
    for (const auto* query : {"purg=true", "purge=1", "purge", "save=no", "principal=", "backend=",
                              "principal=%zz", "principal=%0a", "=", "principal=%ff"}) {
        CAPTURE(query);
        CHECK(status("DELETE", "/sessions/a", query) == 400);
    }
    for (const auto* query : {"principal=a&principal=b", "principal=a&principal=a",
                              "save=true&purge=true&s%61ve=false"}) {
        CAPTURE(query);
        CHECK(status("DELETE", "/sessions/a", query) == 400);
    }
    CHECK(status("GET", "/metrics", "x=1") == 400);
    CHECK(read("HEAD", "/metrics").what == What::metrics);
    CHECK(allowed_methods("/metrics") == "GET, HEAD");
    CHECK(status("GET", "/sessions/a", "purge=true") == 400);
    CHECK(status("GET", "/sessions", "principal=a") == 400);
    CHECK(status("GET", "/sessions/" + std::string(257, 'a')) == 400);
    CHECK(status("GET", "/sessions/%00") == 400);
}

TEST_CASE("the operator's API has its own paths, and no others")
{
    for (const auto* path : {"/sessions", "/sessions/", "/sessions/a", "/status", "/metrics"}) {
        CHECK(is_operators_path(path));
    }
    for (const auto* path : {"/mcp", "/sessionsx", "/", "/healthz", "/statuses", "/metrics/x"}) {
        CAPTURE(path);
        CHECK_FALSE(is_operators_path(path));
    }
}
