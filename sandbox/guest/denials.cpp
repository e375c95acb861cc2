#include "sandbox/guest/denials.hpp"

#include "sandbox/protocol/wire.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include <sys/epoll.h>
#include <sys/socket.h>

namespace berth::guest {
namespace {

protocol::Denial proxy_is_gone()
{
    return {.kind = "proxy",
            .target = "",
            .reason = "the proxy of this session has ended: nothing outside can be reached",
            .remedy = "End the session to have a new machine, with a new proxy; the home is kept."};
}

} // namespace

Denials::Denials(EventLoop& loop, UniqueFd proxy) : loop_(loop), proxy_(std::move(proxy))
{
    if (proxy_) {
        loop_.watch(proxy_.get(), EPOLLIN, [this](std::uint32_t) { read(); });
    }
}

Denials::~Denials()
{
    if (proxy_) {
        loop_.unwatch(proxy_.get());
    }
}

std::uint64_t Denials::newest()
{
    read();
    asked_ = newest_;
    return newest_;
}

std::vector<protocol::Denial> Denials::since(std::uint64_t number)
{
    read();
    std::vector<protocol::Denial> told;
    for (const auto& [at, denial] : kept_) {
        if (at <= number) {
            continue;
        }
        const auto same = std::ranges::find_if(
            told, [&denial = denial](const auto& other) { return other.is_as(denial); });
        if (same != told.end()) {
            same->count += denial.count;
        } else if (told.size() < most_told) {
            told.push_back(denial);
        }
    }
    if (lost_) {
        told.push_back(proxy_is_gone());
    }
    return told;
}

/// No more than most_read: else a command that has it deny without end could keep
/// the loop here.
void Denials::read()
{
    std::array<char, 4096> message; // NOLINT(*-member-init): as much of it as is written to is read
    for (int i = 0; i < most_read && proxy_; ++i) {
        const ssize_t size = ::recv(proxy_.get(), message.data(), message.size(), MSG_DONTWAIT);
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size < 0 && errno == EAGAIN) {
            return;
        }
        if (size <= 0) {
            loop_.unwatch(proxy_.get());
            proxy_.reset();
            lost_ = true;
            return;
        }
        try {
            take(protocol::decode<protocol::Denial>(
                std::string_view(message.data(), static_cast<std::size_t>(size))));
        } catch (const protocol::WireError&) {
            continue; // of a later release: what it denied is not known, that it did goes on
        }
    }
}

void Denials::take(protocol::Denial denial)
{
    ++newest_;
    if (!kept_.empty() && kept_.back().first > asked_ && kept_.back().second.is_as(denial)) {
        // What tries again and again shall not push the others out. Nobody's beginning is between.
        kept_.back().second.count += denial.count;
        return;
    }
    if (kept_.size() == most_kept) {
        kept_.pop_front();
    }
    kept_.emplace_back(newest_, std::move(denial));
}

} // namespace berth::guest
