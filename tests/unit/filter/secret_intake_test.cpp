#include "sandbox/base/descriptors.hpp"
#include "sandbox/filter/proxy/secret_intake.hpp"
#include "sandbox/protocol/wire.hpp"

#include <doctest/doctest.h>

#include <string>

#include <sys/socket.h>
#include <unistd.h>

using namespace berth;

namespace {

constexpr std::uint32_t nobody_here = 4242;

/// What the proxy goes by after this was said to it.
std::string value_after(const std::string& said, std::uint32_t server, bool taken)
{
    filter::SecretBook book(
        {{.name = "TOKEN", .placeholder = "PLACE", .places = {"http://a.example"}}});
    const auto [mine, its] = make_socket_pair();
    REQUIRE(::send(mine.get(), said.data(), said.size(), 0) == static_cast<ssize_t>(said.size()));
    ::shutdown(mine.get(), SHUT_WR);
    CHECK(filter::take_secrets_from(its.get(), server, book) == taken);
    return book.replacements({.name = "a.example", .address = {}, .port = 80}, false)
        .at(0)
        .value.value_or("");
}

} // namespace

TEST_CASE("a proxy takes values from its server, and from nobody else")
{
    const auto message =
        protocol::encode(filter::SecretValues{.values = {{.name = "TOKEN", .value = "s3cret"}}});
    CHECK(value_after(message, ::geteuid(), true) == "s3cret");
    // Root may do all that its server may.
    const bool is_root = ::geteuid() == 0;
    CHECK(value_after(message, nobody_here, is_root) == (is_root ? "s3cret" : ""));
    CHECK(value_after(message.substr(0, message.size() - 1), ::geteuid(), false).empty());
}
