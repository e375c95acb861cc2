#include "sandbox/base/unique_fd.hpp"
#include "sandbox/filter/proxy/client.hpp"
#include "sandbox/filter/proxy/send_allowance.hpp"
#include "sandbox/protocol/wire.hpp"
#include "tests/unit/filter/hello.hpp"
#include "tests/unit/filter/loopback.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace berth::tests;
using berth::UniqueFd;
using berth::filter::Reporter;
using berth::filter::Rules;
using berth::filter::SecretBook;
using berth::filter::SendAllowance;

namespace {

/// On loopback; takes one connection, says its word, and keeps what comes to its end.
class OneServer {
  public:
    /// `listens`: until the other side ends; else it goes once a byte has come.
    explicit OneServer(std::string word, bool listens = true)
    {
        sockaddr_in address{};
        std::tie(listener_, address) = listening_on_loopback();
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this, word = std::move(word), listens] {
            const UniqueFd client(::accept(listener_.get(), nullptr, nullptr));
            if (!listens) {
                char first = 0;
                (void)::recv(client.get(), &first, 1, MSG_PEEK);
            }
            (void)::send(client.get(), word.data(), word.size(), MSG_NOSIGNAL);
            if (listens) {
                ::shutdown(client.get(), SHUT_WR);
                heard_ = received(client.get());
            }
        });
    }

    /// What came; nothing also where nobody has connected.
    std::string heard()
    {
        ::shutdown(listener_.get(), SHUT_RDWR);
        thread_.join();
        return heard_;
    }

    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  private:
    UniqueFd listener_;
    unsigned port_ = 0;
    std::string heard_;
    std::thread thread_;
};

struct Served {
    std::string answer;
    std::string denied; ///< kinds
};

/// Of a client that says this and nothing more.
Served served(const Rules& rules, const std::string& said,
              const SecretBook& secrets = SecretBook({}), SendAllowance* allowance = nullptr)
{
    std::array<int, 2> ends{};
    std::array<int, 2> control{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control.data()) == 0);
    const UniqueFd mine(ends[0]);
    const UniqueFd told(control[0]);
    const UniqueFd telling(control[1]);
    REQUIRE(::send(mine.get(), said.data(), said.size(), 0) == static_cast<ssize_t>(said.size()));
    ::shutdown(mine.get(), SHUT_WR);
    const Reporter reporter(telling.get());
    berth::filter::serve_client(
        UniqueFd(ends[1]),
        {.rules = rules, .secrets = secrets, .reporter = reporter, .allowance = allowance});
    Served served{.answer = received(mine.get()), .denied = {}};
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0;
         (size = ::recv(told.get(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0;) {
        served.denied += berth::protocol::decode<berth::protocol::Denial>(
                             std::string_view(buffer.data(), static_cast<std::size_t>(size)))
                             .kind;
    }
    return served;
}

/// With no secrets, and nobody who is told.
void serve(UniqueFd client, const Rules& rules)
{
    const SecretBook secrets({});
    const Reporter reporter(-1);
    berth::filter::serve_client(std::move(client),
                                {.rules = rules, .secrets = secrets, .reporter = reporter});
}

constexpr std::size_t upload_size = 8UL * 1024 * 1024;
const std::string length_of_upload = "Content-Length: " + std::to_string(upload_size);

struct Uploaded {
    std::string answer;
    bool went = false; ///< all of it
};

/// Of a client that sends this head and a body, and only then looks for an answer.
Uploaded uploaded(const Rules& rules, const std::string& head)
{
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    const UniqueFd mine(ends[0]);
    UniqueFd proxys(ends[1]);
    REQUIRE(::fcntl(proxys.get(), F_SETFL, O_NONBLOCK) == 0);
    Uploaded uploaded;
    std::thread client([&] {
        const auto said = head + std::string(upload_size, 'x');
        const ssize_t sent = ::send(mine.get(), said.data(), said.size(), MSG_NOSIGNAL);
        uploaded.went = sent == static_cast<ssize_t>(said.size());
        uploaded.answer = received(mine.get());
        ::shutdown(mine.get(), SHUT_WR);
    });
    serve(std::move(proxys), rules);
    client.join();
    return uploaded;
}

struct Ended {
    std::string answer;
    bool was_broken_off = false; ///< by a reset; else it has ended
};

/// Of a client of TCP that says this, goes on listening, and sends nothing more.
Ended ended(const std::string& said)
{
    const auto [listener, address] = listening_on_loopback();
    const UniqueFd mine(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(mine.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
            0);
    UniqueFd proxys(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    Ended ended;
    std::thread client([&] {
        (void)::send(mine.get(), said.data(), said.size(), MSG_NOSIGNAL);
        std::array<char, 4096> buffer{};
        ssize_t size = 0;
        while ((size = ::recv(mine.get(), buffer.data(), buffer.size(), 0)) > 0) {
            ended.answer.append(buffer.data(), static_cast<std::size_t>(size));
        }
        ended.was_broken_off = size < 0 && errno == ECONNRESET;
        ::shutdown(mine.get(), SHUT_WR);
    });
    serve(std::move(proxys), open_loopback());
    client.join();
    return ended;
}

constexpr const char* established = "HTTP/1.1 200 Connection established\r\n\r\n";

} // namespace

TEST_CASE("a tunnel brings both ways what is sent, whoever speaks first")
{
    OneServer server("a greeting");
    const auto got =
        served(open_loopback(), "CONNECT " + server.address() + " HTTP/1.1\r\n\r\nSSH-2.0-x\r\n");
    CHECK(got.answer == established + std::string("a greeting"));
    CHECK(got.denied.empty());
    CHECK(server.heard() == "SSH-2.0-x\r\n");
}

TEST_CASE("of a tunnel that leads elsewhere nothing reaches the server")
{
    OneServer server("");
    const auto hello = client_hello(server_name("other.example"));
    const auto got =
        served(open_loopback(), "CONNECT " + server.address() + " HTTP/1.1\r\n\r\n" + hello);
    CHECK(got.answer.ends_with(std::string("\x15\x03\x03\x00\x02\x02\x70", 7)));
    CHECK(got.denied == "tls");
    CHECK(server.heard().empty());
}

TEST_CASE("a plain request goes on without what follows it")
{
    OneServer server("HTTP/1.1 200 OK\r\n\r\n");
    const auto got = served(open_loopback(),
                            "POST http://" + server.address() +
                                "/a HTTP/1.1\r\nContent-Length: 2\r\n\r\nokGET http://x/ HTTP/1.1");
    CHECK(got.answer == "HTTP/1.1 200 OK\r\n\r\n");
    CHECK(server.heard() == "POST /a HTTP/1.1\r\nHost: " + server.address() +
                                "\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
}

TEST_CASE("what follows a body in chunks does not go on, and what is no chunk neither")
{
    const auto head = [](const OneServer& server) {
        return "POST http://" + server.address() +
               "/a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    };
    OneServer server("HTTP/1.1 200 OK\r\n\r\n");
    const std::string body = "2\r\nok\r\n0\r\n\r\n";
    const auto got =
        served(open_loopback(), head(server) + body + "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(got.answer == "HTTP/1.1 200 OK\r\n\r\n");
    CHECK(got.denied.empty());
    CHECK(server.heard() == "POST /a HTTP/1.1\r\nHost: " + server.address() +
                                "\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" +
                                body);
    OneServer other("");
    const auto bad = served(open_loopback(), head(other) + "2\r\nokGET / HTTP/1.1\r\n");
    CHECK(bad.answer.starts_with("HTTP/1.1 400 Bad Request\r\n"));
    CHECK(bad.denied == "request");
    CHECK(other.heard().empty());
}

TEST_CASE("a server that answers before it has heard all is sent the rest, and its answer arrives")
{
    const std::string early = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n";
    for (const bool tunnel : {false, true}) {
        OneServer server(early);
        const auto post = "POST http://" + server.address() + "/ HTTP/1.1\r\n";
        const auto got = uploaded(
            open_loopback(), (tunnel ? "CONNECT " + server.address() + " HTTP/1.1\r\n" : post) +
                                 length_of_upload + "\r\n\r\n");
        CHECK(got.went);
        CHECK(got.answer == (tunnel ? established : "") + early);
        CHECK(server.heard().size() >= upload_size);
    }
}

TEST_CASE("who is answered while he sends a body can hear it, though nobody takes that")
{
    const auto denied = uploaded(Rules({}, {}, {}), "POST http://a.example/ HTTP/1.1\r\n" +
                                                        length_of_upload + "\r\n\r\n");
    CHECK(denied.went);
    CHECK(denied.answer.starts_with("HTTP/1.1 403 Forbidden\r\n"));
    // It goes with bytes unread, which resets its connection.
    const std::string early = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n";
    OneServer server(early, /*listens=*/false);
    const auto got =
        uploaded(open_loopback(), "POST http://" + server.address() + "/ HTTP/1.1\r\n" +
                                      length_of_upload + "\r\n\r\n");
    CHECK(got.went);
    CHECK(got.answer == early);
    (void)server.heard();
}

TEST_CASE("an answer that its server broke off is broken off for its client, and no whole one is")
{
    const std::string answer = "HTTP/1.1 200 OK\r\n\r\n" + std::string(1000, 'x');
    const std::string get = "GET / HTTP/1.1\r\n\r\n";
    for (const bool is_whole : {true, false}) {
        for (const bool tunnel : {false, true}) {
            CAPTURE(is_whole);
            CAPTURE(tunnel);
            // One that does not listen goes with bytes unread, which resets its connection.
            OneServer server(answer, /*listens=*/is_whole);
            const auto got =
                ended(tunnel ? "CONNECT " + server.address() + " HTTP/1.1\r\n\r\n" + get
                             : "GET http://" + server.address() + "/ HTTP/1.1\r\n\r\n");
            CHECK(got.answer == (tunnel ? established : "") + answer);
            CHECK(got.was_broken_off == !is_whole);
            (void)server.heard();
        }
    }
}

TEST_CASE("an answer that its server broke off is no whole one, though its client still sends")
{
    // What tells the reset then is, as often as not, that no more can be sent: after it what the
    // server had said ends like all of it.
    const std::string answer = "HTTP/1.1 200 OK\r\n\r\n" + std::string(1000, 'x');
    for (int i = 0; i < 20; ++i) {
        OneServer server(answer, /*listens=*/false);
        const auto got = ended("POST http://" + server.address() + "/ HTTP/1.1\r\n" +
                               length_of_upload + "\r\n\r\n" + std::string(upload_size, 'x'));
        CHECK(std::string_view(answer).starts_with(got.answer));
        CHECK(got.was_broken_off);
        (void)server.heard();
    }
}

TEST_CASE("a session sends as many bytes as it may, and then nothing")
{
    SendAllowance allowance(500);
    const auto post = [&](const OneServer& to, std::size_t size) {
        return served(open_loopback(),
                      "POST http://" + to.address() + "/ HTTP/1.1\r\nContent-Length: " +
                          std::to_string(size) + "\r\n\r\n" + std::string(size, 'x'),
                      SecretBook({}), &allowance);
    };
    OneServer first("HTTP/1.1 200 OK\r\n\r\n");
    CHECK(post(first, 300).denied.empty());
    CHECK(first.heard().ends_with(std::string(300, 'x')));
    CHECK_FALSE(allowance.is_spent());
    for (int i = 0; i < 2; ++i) { // by what it sends, and before anything is
        OneServer server("");
        const auto got = post(server, 300);
        CHECK(got.answer.starts_with("HTTP/1.1 403 Forbidden\r\n"));
        CHECK(got.answer.find("500 bytes") != std::string::npos);
        CHECK(got.denied == "bytes");
        CHECK(server.heard().empty());
        CHECK(allowance.is_spent());
    }
    SendAllowance of_tunnel(5);
    OneServer server("a greeting");
    const auto got =
        served(open_loopback(), "CONNECT " + server.address() + " HTTP/1.1\r\n\r\nSSH-2.0-x\r\n",
               SecretBook({}), &of_tunnel);
    CHECK(got.denied == "bytes");
    CHECK(server.heard().empty());
    const std::string socks("\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x09", 13);
    const auto denied = served(open_loopback(), socks, SecretBook({}), &of_tunnel);
    CHECK(denied.answer == std::string("\x05\x00\x05\x02\x00\x01\0\0\0\0\0\0", 12));
    CHECK(denied.denied == "bytes");
}

TEST_CASE("a client that has gone keeps no place, though its server says nothing")
{
    const auto [silent, address] = listening_on_loopback();
    const auto port = std::to_string(ntohs(address.sin_port));
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    UniqueFd mine(ends[0]);
    const std::string said = "GET http://127.0.0.1:" + port + "/ HTTP/1.1\r\n\r\n";
    REQUIRE(::send(mine.get(), said.data(), said.size(), 0) == static_cast<ssize_t>(said.size()));
    mine.reset();
    const auto rules = open_loopback();
    const SecretBook secrets({});
    const Reporter reporter(-1);
    berth::filter::serve_client(UniqueFd(ends[1]),
                                {.rules = rules, .secrets = secrets, .reporter = reporter});
    // It would return after hours else.
    const UniqueFd server(::accept(silent.get(), nullptr, nullptr));
    CHECK(received(server.get()).starts_with("GET / HTTP/1.1\r\n"));
}

TEST_CASE("a secret goes to its own place, and elsewhere not even its placeholder")
{
    OneServer server("HTTP/1.1 200 OK\r\n\r\n");
    OneServer other("");
    SecretBook secrets(
        {{.name = "TOKEN", .placeholder = "PLACE", .places = {"http://" + server.address()}}});
    secrets.set("TOKEN", "a longer value than what stands for it");
    const std::string fields =
        " HTTP/1.1\r\nAuthorization: Bearer PLACE\r\nContent-Length: 5\r\n\r\nPLACE and more";
    (void)served(open_loopback(), "POST http://" + server.address() + "/" + fields, secrets);
    CHECK(server.heard() == "POST / HTTP/1.1\r\nHost: " + server.address() +
                                "\r\nConnection: close\r\nAuthorization: Bearer a longer value "
                                "than what stands for it\r\nContent-Length: 5\r\n\r\nPLACE");
    const auto got =
        served(open_loopback(), "POST http://" + other.address() + "/" + fields, secrets);
    CHECK(got.answer.starts_with("HTTP/1.1 403 Forbidden\r\n"));
    CHECK(got.denied == "secret");
    CHECK(other.heard().empty());
}

TEST_CASE(
    "plain HTTP in a tunnel to the place of a secret is read for it, and other tunnels are not")
{
    OneServer server("HTTP/1.1 200 OK\r\n\r\n");
    OneServer other("");
    SecretBook secrets(
        {{.name = "TOKEN", .placeholder = "PLACE", .places = {"http://" + server.address()}}});
    secrets.set("TOKEN", "s3cret");
    const auto get = [](const std::string& connected, const std::string& host) {
        return "CONNECT " + connected + " HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: " + host +
               "\r\nX: PLACE\r\n\r\n";
    };
    (void)served(open_loopback(), get(server.address(), server.address()), secrets);
    CHECK(server.heard() == "GET / HTTP/1.1\r\nHost: " + server.address() +
                                "\r\nConnection: close\r\nX: s3cret\r\n\r\n");
    (void)served(open_loopback(), get(other.address(), server.address()), secrets);
    CHECK(other.heard() == "GET / HTTP/1.1\r\nHost: " + server.address() + "\r\nX: PLACE\r\n\r\n");
    OneServer third("");
    SecretBook of_third(
        {{.name = "TOKEN", .placeholder = "PLACE", .places = {"http://" + third.address()}}});
    of_third.set("TOKEN", "s3cret");
    const auto got = served(open_loopback(), get(third.address(), server.address()), of_third);
    CHECK(got.denied == "request");
    CHECK(got.answer.find("HTTP/1.1 421 Misdirected Request\r\n") != std::string::npos);
    CHECK(third.heard().empty());
    OneServer fourth("");
    SecretBook of_fourth(
        {{.name = "TOKEN", .placeholder = "PLACE", .places = {"http://" + fourth.address()}}});
    of_fourth.set("TOKEN", "s3cret");
    const auto traced =
        served(open_loopback(),
               "TRACE http://" + fourth.address() + "/ HTTP/1.1\r\nX: PLACE\r\n\r\n", of_fourth);
    CHECK(traced.answer.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"));
    CHECK(fourth.heard().empty());
}

TEST_CASE("SOCKS")
{
    OneServer server("");
    const auto port = static_cast<unsigned>(std::stoul(server.address().substr(10)));
    const std::string greeting("\x05\x01\x00", 3);
    const std::string request =
        std::string("\x05\x01\x00\x01\x7f\x00\x00\x01", 8) + in_bytes(port, 2);
    const auto got = served(open_loopback(), greeting + request + "words");
    CHECK(got.answer == std::string("\x05\x00\x05\x00\x00\x01\0\0\0\0\0\0", 12));
    CHECK(server.heard() == "words");
    const auto denied = served(Rules({}, {}, {}), greeting + request);
    CHECK(denied.answer == std::string("\x05\x00\x05\x02\x00\x01\0\0\0\0\0\0", 12));
    CHECK(denied.denied == "address");
    // Whoever connected has but a number to tell it by.
    const auto none =
        served(open_loopback(), greeting + std::string("\x05\x01\x00\x03", 4) +
                                    counted_bytes("a.example.", 1) + in_bytes(443, 2));
    CHECK(none.answer == std::string("\x05\x00\x05\x08\x00\x01\0\0\0\0\0\0", 12));
    CHECK(none.denied == "request");
}

TEST_CASE("SOCKS 4, and SOCKS 5 with authentication alone, is answered and told at once")
{
    const std::string address("\x7f\x00\x00\x01", 4);
    const auto of_4 = served(open_loopback(), "\x04\x01" + in_bytes(443, 2) + address + '\0');
    CHECK(of_4.answer == std::string("\x00\x5b\0\0\0\0\0\0", 8));
    CHECK(of_4.denied == "request");
    const auto with_password = served(open_loopback(), "\x05\x01\x02");
    CHECK(with_password.answer == "\x05\xff");
    CHECK(with_password.denied == "request");
}

TEST_CASE("who is denied is told why, and so is the guest")
{
    const auto got = served(Rules({}, {}, {}), "CONNECT example.com:443 HTTP/1.1\r\n\r\n");
    CHECK(got.answer.starts_with("HTTP/1.1 403 Forbidden\r\n"));
    CHECK(got.answer.find("not among those") != std::string::npos);
    CHECK(got.denied == "domain");
    // A name that leads to where nothing was opened.
    const auto inner =
        served(Rules({"localhost:*"}, {}, {}), "CONNECT localhost:9 HTTP/1.1\r\n\r\n");
    CHECK(inner.answer.starts_with("HTTP/1.1 403 "));
    CHECK(inner.denied == "address");
}

TEST_CASE("a denial waits for no guest that does not read")
{
    std::array<int, 2> control{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control.data()) == 0);
    const UniqueFd told(control[0]);
    const UniqueFd telling(control[1]);
    const Reporter reporter(telling.get());
    for (int i = 0; i < 10'000; ++i) { // more than a socket holds
        reporter.tell({.kind = "domain", .target = "a", .reason = "no", .remedy = "none"});
    }
    CHECK(::recv(told.get(), nullptr, 0, MSG_DONTWAIT | MSG_PEEK) == 0);
}

TEST_CASE("what is not whole, or too long, gets nowhere")
{
    CHECK(served(open_loopback(), "").answer.empty());
    CHECK(served(open_loopback(), "GET http://127.0.0.1/").answer.empty());
    CHECK(served(open_loopback(), "\x05").answer.empty());
    const auto got =
        served(open_loopback(), "GET http://127.0.0.1/ HTTP/1.1\r\nX: " + std::string(64000, 'x'));
    CHECK(got.answer.starts_with("HTTP/1.1 431 "));
    const auto nobody = served(open_loopback(), "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n");
    CHECK(nobody.answer.starts_with("HTTP/1.1 502 "));
    CHECK(nobody.denied.empty());
}
