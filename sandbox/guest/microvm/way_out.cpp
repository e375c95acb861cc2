#include "sandbox/guest/microvm/way_out.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace berth::guest {
namespace {

using namespace std::string_view_literals;

constexpr std::uint16_t port_of_names = 53;
constexpr std::uint16_t port_of_tls = 443;

/// RFC 1035, 4.2.2: a length, a head with one question, the root, NS, IN.
constexpr auto for_names = "\0\x11\xbe\x72\x01\0\0\x01\0\0\0\0\0\0\0\0\x02\0\x01"sv;

/// RFC 5246, 7.4.1.2: a hello of TLS 1.2 with one cipher and no extension, so without a name, which
/// a firewall would go by. Whether it is refused or agreed with, somebody has answered.
std::string for_tls()
{
    constexpr std::size_t random_bytes = 32;
    return std::string("\x16\x03\x01\0\x2d\x01\0\0\x29\x03\x03"sv) +
           std::string(random_bytes, '\x5a') + std::string("\0\0\x02\xc0\x2f\x01\0"sv);
}

struct Attempt {
    Place place;
    bool of_nobody = false;
    UniqueFd socket;
    std::string question;
    bool answered = false;

    [[nodiscard]] bool is_open() const noexcept { return socket.get() >= 0; }

    void go_on(short events);
};

Attempt begun(const Place& place, bool of_nobody)
{
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(place.port);
    const bool of_names = place.kind == Place::Kind::names;
    Attempt attempt{.place = place,
                    .of_nobody = of_nobody,
                    .socket =
                        UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
                    .question = of_names ? std::string(for_names) : for_tls()};
    if (attempt.socket &&
        (::inet_pton(AF_INET, place.address.c_str(), &to.sin_addr) != 1 ||
         (::connect(attempt.socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0 &&
          errno != EINPROGRESS))) {
        attempt.socket.reset();
    }
    return attempt;
}

/// A question is shorter than any buffer of a socket, so it goes at once or never.
void Attempt::go_on(short events)
{
    if ((events & POLLOUT) != 0 && !question.empty()) {
        const auto sent = ::send(socket.get(), question.data(), question.size(), MSG_NOSIGNAL);
        question.clear();
        if (sent < 0) {
            socket.reset();
            return;
        }
    }
    if ((events & (POLLIN | POLLERR | POLLHUP)) != 0) {
        char byte = 0;
        const auto got = ::recv(socket.get(), &byte, 1, 0);
        answered = got > 0;
        if (answered || got == 0 || errno != EAGAIN) {
            socket.reset();
        }
    }
}

class Round {
  public:
    Round(const std::vector<Place>& places, const std::vector<Place>& nobodys)
    {
        for (const auto& place : nobodys) {
            attempts_.push_back(begun(place, true));
        }
        for (const auto& place : places) {
            attempts_.push_back(begun(place, false));
        }
    }

    /// Whose answer is its own; null: nobody's, as far as is known, or for good where `last`.
    [[nodiscard]] const Place* proof(bool last) const;

    /// Whether another answer could be one's own.
    [[nodiscard]] bool is_open() const;

    void go_on(const Deadline& deadline);

  private:
    /// Whether whoever answers questions of that kind stands on the way; nothing: not known yet.
    [[nodiscard]] std::optional<bool> is_diverted(Place::Kind kind) const;

    std::vector<Attempt> attempts_;
};

std::optional<bool> Round::is_diverted(Place::Kind kind) const
{
    bool is_open = false;
    for (const auto& each : attempts_) {
        if (each.of_nobody && each.place.kind == kind) {
            if (each.answered) {
                return true;
            }
            is_open = is_open || each.is_open();
        }
    }
    return is_open ? std::nullopt : std::optional(false);
}

const Place* Round::proof(bool last) const
{
    const auto found = std::ranges::find_if(attempts_, [&](const Attempt& each) {
        return !each.of_nobody && each.answered && !is_diverted(each.place.kind).value_or(!last);
    });
    return found == attempts_.end() ? nullptr : &found->place;
}

bool Round::is_open() const
{
    return std::ranges::any_of(attempts_, [&](const Attempt& each) {
        return !each.of_nobody && (each.is_open() || each.answered) &&
               !is_diverted(each.place.kind).value_or(false);
    });
}

void Round::go_on(const Deadline& deadline)
{
    std::vector<pollfd> watched;
    for (const auto& each : attempts_) {
        const int events = POLLIN | (each.question.empty() ? 0 : POLLOUT);
        watched.push_back( // one below 0 is passed over
            {.fd = each.socket.get(), .events = static_cast<short>(events), .revents = 0});
    }
    if (::poll(watched.data(), watched.size(), deadline.poll_timeout()) <= 0) {
        return;
    }
    for (std::size_t i = 0; i < attempts_.size(); ++i) {
        if (watched[i].revents != 0) {
            attempts_[i].go_on(watched[i].revents);
        }
    }
}

} // namespace

std::vector<Place> resolvers(const std::vector<std::string>& addresses)
{
    std::vector<Place> places;
    for (const auto& address : addresses) {
        places.push_back({.address = address, .port = port_of_names, .kind = Place::Kind::names});
        places.push_back({.address = address, .port = port_of_tls});
    }
    return places;
}

std::vector<Place> nobodys()
{
    return {{.address = "192.0.2.1", .port = port_of_names, .kind = Place::Kind::names}};
}

std::string who_answers(const std::vector<Place>& places, const std::vector<Place>& nobodys,
                        std::chrono::milliseconds time)
{
    const auto deadline = Deadline::after(time);
    Round round(places, nobodys);
    while (round.is_open()) {
        const bool last = deadline.expired();
        if (const auto* const proof = round.proof(last)) {
            return proof->address + " answers on port " + std::to_string(proof->port);
        }
        if (last) {
            break;
        }
        round.go_on(deadline);
    }
    return {};
}

} // namespace berth::guest
