#include "sandbox/base/unique_fd.hpp"
#include "tests/bench/load.hpp"
#include "tests/bench/load_figures.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::bench {
namespace {

/// Field names as servers write them, in any case.
std::size_t find_field(std::string_view head, std::string_view name)
{
    const auto same = [](char a, char b) { return (a | ' ') == (b | ' '); };
    const auto found = std::ranges::search(head, name, same);
    return found.empty() ? std::string_view::npos
                         : static_cast<std::size_t>(found.end() - head.begin());
}

std::string_view field(std::string_view head, std::string_view name)
{
    const auto begin = find_field(head, name);
    return begin == std::string_view::npos ? std::string_view()
                                           : head.substr(begin, head.find('\r', begin) - begin);
}

/// One client: a connection that stays, and what came on it of the answer to its last request.
class Caller {
  public:
    Caller(int port, const std::string& headers) : port_(port), headers_(headers)
    {
        connect();
        begin_session();
    }

    /// Anew: a server may have closed what was idle for some seconds. The session stays.
    void connect()
    {
        socket_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port_));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int on = 1;
        ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                      sizeof(address)) != 0) {
            throw std::runtime_error("nobody listens");
        }
    }

    [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }

    /// What run() sends each time.
    void prepare(const std::string& params)
    {
        request_ =
            post(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)" + params + '}');
    }

    void call()
    {
        answer_.clear();
        length_.reset();
        sent_ = Clock::now();
        send(request_);
    }

    /// Takes what has come; whether it is the whole answer.
    bool take()
    {
        std::array<char, 65536> piece; // NOLINT(*-member-init): not filled each time
        const auto count = ::recv(socket_.get(), piece.data(), piece.size(), 0);
        if (count <= 0) {
            throw std::runtime_error("the server has closed a connection");
        }
        answer_.append(piece.data(), static_cast<std::size_t>(count));
        return is_whole();
    }

    [[nodiscard]] Clock::duration waited() const { return Clock::now() - sent_; }

    [[nodiscard]] bool failed() const
    {
        return !answer_.starts_with("HTTP/1.1 200") || has_failed(answer_);
    }

  private:
    void begin_session()
    {
        const auto greeting = std::string(R"({"jsonrpc":"2.0","id":0,)") + initialize;
        const auto head = ask(post(greeting));
        const auto session = field(head, "mcp-session-id: ");
        if (session.empty()) {
            throw std::runtime_error("no session: " + head.substr(0, head.find('\r')));
        }
        headers_ +=
            "Mcp-Session-Id: " + std::string(session) + "\r\nMCP-Protocol-Version: 2025-11-25\r\n";
        (void)ask(post(initialized));
    }

    [[nodiscard]] std::string post(const std::string& body) const
    {
        return "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
               "Accept: application/json, text/event-stream\r\n" +
               headers_ + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }

    std::string ask(const std::string& request)
    {
        answer_.clear();
        length_.reset();
        send(request);
        while (!take()) {
        }
        return answer_;
    }

    void send(std::string_view data) const
    {
        if (::send(socket_.get(), data.data(), data.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(data.size())) {
            throw std::runtime_error("the server has closed a connection");
        }
    }

    /// By its length, or its last chunk: servers answer with JSON or with a stream of events.
    bool is_whole()
    {
        constexpr std::string_view last_chunk = "\r\n0\r\n\r\n";
        if (!length_) {
            const auto end = answer_.find("\r\n\r\n");
            if (end == std::string::npos) {
                return false;
            }
            const auto head = std::string_view(answer_).substr(0, end + 2);
            std::size_t length = 0;
            const auto text = field(head, "content-length: ");
            (void)std::from_chars(text.data(), text.data() + text.size(), length);
            chunked_ = !field(head, "transfer-encoding: ").empty();
            length_ = end + 4 + length;
        }
        return chunked_ ? answer_.ends_with(last_chunk) : answer_.size() >= *length_;
    }

    int port_;
    UniqueFd socket_;
    std::string headers_;
    std::string request_;
    std::string answer_;
    std::optional<std::size_t> length_; ///< of the whole answer
    bool chunked_ = false;
    Clock::time_point sent_;
};

class HttpLoad final : public Load {
  public:
    HttpLoad(int port, std::string headers)
        : port_(port), headers_(std::move(headers)), events_(::epoll_create1(EPOLL_CLOEXEC))
    {
    }

    void run(std::size_t callers, std::chrono::milliseconds time,
             const std::string& params) override
    {
        connect(callers);
        for (auto& caller : callers_) {
            caller.prepare(params);
        }
        Figures figures;
        const auto end = Clock::now() + time;
        for (std::size_t i = 0; i < callers; ++i) {
            callers_[i].call();
        }
        std::array<epoll_event, 64> ready{};
        for (auto waiting = callers; waiting > 0;) {
            const int count =
                ::epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), -1);
            for (int i = 0; i < count; ++i) {
                auto& caller = callers_[ready.at(static_cast<std::size_t>(i)).data.u64];
                if (!caller.take()) {
                    continue;
                }
                figures.answered(caller.waited());
                if (caller.failed()) {
                    figures.failed();
                }
                if (Clock::now() < end) {
                    caller.call();
                } else {
                    --waiting;
                }
            }
        }
        figures.print();
    }

  private:
    void connect(std::size_t callers)
    {
        while (callers_.size() < callers) {
            callers_.emplace_back(port_, headers_);
        }
        for (std::size_t i = 0; i < callers_.size(); ++i) {
            callers_[i].connect();
            epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
            ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, callers_[i].descriptor(), &event);
        }
    }

    int port_;
    std::string headers_;
    UniqueFd events_;
    std::deque<Caller> callers_;
};

} // namespace

std::unique_ptr<Load> http_load(int port, const std::string& headers)
{
    return std::make_unique<HttpLoad>(port, headers);
}

} // namespace berth::bench
