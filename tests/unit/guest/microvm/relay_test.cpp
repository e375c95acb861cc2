#include "sandbox/base/io.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/microvm/relay.hpp"
#include "sandbox/protocol/frame.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <future>
#include <string>
#include <utility>

#include <sys/socket.h>

using namespace std::chrono_literals;
using berth::make_pipe;
using berth::Pipe;
using berth::UniqueFd;
using berth::guest::Relay;
using berth::protocol::ConnectorEnd;
using berth::protocol::FrameType;

namespace {

/// A relay on a thread, with all that it is between.
class Relayed {
  public:
    explicit Relayed(std::string opening, std::chrono::milliseconds patience = 60s)
        : input_(make_pipe()), output_(make_pipe())
    {
        std::array<int, 2> pair{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
        guest_.reset(pair[0]);
        end_ = std::async(std::launch::async, [this, patience, opening = std::move(opening),
                                               socket = UniqueFd(pair[1])]() mutable {
            Relay relay(
                std::move(socket), std::move(opening),
                {.input = input_.read.get(), .output = output_.write.get(), .patience = patience});
            return relay.run();
        });
    }

    [[nodiscard]] int guest() const { return guest_.get(); }

    void guest_closes() { guest_.reset(); }

    [[nodiscard]] int host() const { return input_.write.get(); }

    void host_says_no_more() { input_.write.reset(); }

    [[nodiscard]] int answer() const { return output_.read.get(); }

    void host_is_gone() { output_.read.reset(); }

    [[nodiscard]] ConnectorEnd end()
    {
        REQUIRE(end_.wait_for(20s) == std::future_status::ready);
        return end_.get();
    }

  private:
    UniqueFd guest_;
    Pipe input_;
    Pipe output_;
    std::future<ConnectorEnd> end_; ///< first to go: it uses the others
};

std::string read(int fd, std::size_t size)
{
    std::string bytes(size, '\0');
    bytes.resize(berth::read_full(fd, bytes.data(), size));
    return bytes;
}

std::string frame(FrameType type, const std::string& payload)
{
    std::string bytes;
    berth::protocol::put_frame(bytes, type, payload);
    return bytes;
}

} // namespace

TEST_CASE("a relay gives the guest the opening, then what comes, and the host the answer")
{
    Relayed call("opening ");
    berth::write_full(call.host(), "and more");
    CHECK(read(call.guest(), 16) == "opening and more");
    SUBCASE("while its input is open") {}
    SUBCASE("when nothing more comes")
    {
        call.host_says_no_more();
    }
    const auto answer = frame(FrameType::reply, std::string(30'000, 'x'));
    berth::write_full(call.guest(), answer);
    CHECK(call.end() == ConnectorEnd::answered);
    CHECK(read(call.answer(), answer.size()) == answer);
}

TEST_CASE("a relay carries more than fits into a pipe, both ways at once")
{
    const std::string large(3'000'000, 'l');
    const std::string data = frame(FrameType::data, large);
    Relayed call("");
    auto sent = std::async(std::launch::async, [&] { berth::write_full(call.host(), large); });
    auto had = std::async(std::launch::async, [&] { return read(call.guest(), large.size()); });
    auto said = std::async(std::launch::async, [&] { berth::write_full(call.guest(), data); });
    CHECK(read(call.answer(), data.size()) == data);
    CHECK(had.get() == large);
    sent.get();
    said.get();
    berth::write_full(call.guest(), frame(FrameType::reply, ""));
    CHECK(call.end() == ConnectorEnd::answered);
}

TEST_CASE("a relay tells a guest that closed from one that left the request unread")
{
    Relayed call("opening");
    SUBCASE("it has read all of it")
    {
        CHECK(read(call.guest(), 7) == "opening");
        call.guest_closes();
        CHECK(call.end() == ConnectorEnd::closed);
    }
    SUBCASE("it has not")
    {
        CHECK(read(call.guest(), 3) == "ope");
        call.guest_closes();
        CHECK(call.end() == ConnectorEnd::left_unread);
    }
}

TEST_CASE("a relay ends when nobody takes the answer off, or is there to")
{
    Relayed call("", 200ms);
    SUBCASE("nobody reads")
    {
        berth::write_full(call.guest(), frame(FrameType::reply, std::string(150'000, 'x')));
    }
    SUBCASE("nobody is there")
    {
        call.host_is_gone();
    }
    CHECK(call.end() == ConnectorEnd::not_taken_off);
}
