#include "server/transport/http_server.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace berth::transport {
namespace {

/// For so long a thread waits for the next request of its connection: most clients send it at once,
/// and then no other thread has to be woken.
constexpr std::chrono::milliseconds lingering{100};

void watch(const UniqueFd& events, int descriptor, std::uint32_t what)
{
    epoll_event event{.events = what, .data = {.fd = descriptor}};
    if (::epoll_ctl(events.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
        throw_errno("epoll_ctl");
    }
}

/// The kernel would hold back the last piece of an answer for the peer's acknowledgement, and take
/// megabytes of one that the peer does not read, which nobody counts (HttpRoom). On a unix socket
/// neither is so, and this means nothing.
void send_at_once(int socket) noexcept
{
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const int most_unsent = 128 * 1024;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most_unsent, sizeof(most_unsent));
}

void add_fields(HttpAnswer& answer, const std::vector<std::pair<std::string, std::string>>& fields)
{
    answer.fields.insert(answer.fields.end(), fields.begin(), fields.end());
}

bool is_out_of_descriptors(int error) noexcept
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

} // namespace

/// Takes the body of a request within what is left for it.
class HttpServer::Body {
  public:
    Body(std::size_t limit, HttpRoom& room) : limit_(limit), room_(room) {}

    bool take(std::string_view piece)
    {
        if (piece.size() > limit_ - text_.size()) {
            status_ = 413;
            return false;
        }
        if (!room_.take(piece.size())) {
            status_ = 503;
            return false;
        }
        text_ += piece;
        return true;
    }

    /// With what it is refused; 0: it is not.
    [[nodiscard]] int status() const noexcept { return status_; }

    [[nodiscard]] std::string release() { return std::move(text_); }

  private:
    std::size_t limit_;
    HttpRoom& room_;
    std::string text_;
    int status_ = 0;
};

HttpServer::HttpServer(UniqueFd listener, HttpHandler& handler, HttpSettings settings)
    : listener_(std::move(listener)), events_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), handler_(handler), settings_(settings),
      pool_(settings.connections)
{
    if (!events_ || !wake_) {
        throw_errno("epoll");
    }
    watch(events_, listener_.get(), EPOLLIN);
    watch(events_, wake_.get(), EPOLLIN);
}

HttpServer::~HttpServer()
{
    stop();
    const std::lock_guard lock(mutex_);
    for (const auto& [descriptor, weak] : serving_) {
        if (const auto socket = weak.lock()) {
            socket->break_off();
        }
    }
}

void HttpServer::stop() noexcept
{
    stopped_ = true;
    wake(wake_.get());
}

void HttpServer::run()
{
    constexpr std::chrono::milliseconds sweep{1000};
    auto swept = Clock::now();
    std::array<epoll_event, 64> events{};
    while (!stopped_) {
        const int count =
            ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()),
                         static_cast<int>(sweep.count()));
        for (int i = 0; i < count && !stopped_; ++i) {
            const int descriptor = events.at(static_cast<std::size_t>(i)).data.fd;
            if (descriptor == listener_.get()) {
                accept_all();
            } else if (descriptor != wake_.get()) {
                if (auto socket = unpark(descriptor)) {
                    start(std::move(socket));
                }
            }
        }
        drop_idle(settings_.idle_time);
        if (const auto now = Clock::now(); now - swept >= sweep) { // not with each request
            look_at_idle();
            swept = now;
        }
    }
    listener_.reset();
    drop_idle(Clock::duration(-1));
}

void HttpServer::accept_all()
{
    for (int i = 0; i < 64; ++i) { // then those who wait with a request come first
        UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) {
            if (is_out_of_descriptors(errno) && !drop_longest_idle({})) {
                (void)arrivals_.break_longest();
                // The listener stays readable: without a pause this thread would spin.
                ::poll(nullptr, 0, 50);
            }
            return;
        }
        accept_one(std::move(socket));
    }
}

void HttpServer::accept_one(UniqueFd socket)
{
    if (open_ >= settings_.connections && !make_place()) {
        refuse_connection(socket);
        return;
    }
    send_at_once(socket.get());
    ++open_;
    park(Socket(new HttpSocket(std::move(socket), &traffic_, settings_.write_time),
                [this](HttpSocket* closed) {
                    delete closed;
                    --open_;
                }));
}

/// Without a thread: it fits into the buffer of a fresh socket.
void HttpServer::refuse_connection(const UniqueFd& socket)
{
    constexpr std::string_view answer = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
                                        "Content-Length: 0\r\nConnection: close\r\n\r\n";
    traffic_.answered(503);
    [[maybe_unused]] const auto sent =
        ::send(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void HttpServer::park(const Socket& socket)
{
    const std::lock_guard lock(mutex_);
    const int descriptor = socket->descriptor();
    serving_.erase(descriptor);
    if (stopped_) {
        return;
    }
    parked_.push_back({socket, Clock::now()});
    by_descriptor_[descriptor] = std::prev(parked_.end());
    epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.fd = descriptor}};
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
        by_descriptor_.erase(descriptor);
        parked_.pop_back();
    }
}

HttpServer::Socket HttpServer::unpark(int descriptor)
{
    const std::lock_guard lock(mutex_);
    const auto found = by_descriptor_.find(descriptor);
    if (found == by_descriptor_.end()) {
        return nullptr;
    }
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
    auto socket = std::move(found->second->socket);
    parked_.erase(found->second);
    by_descriptor_.erase(found);
    serving_[descriptor] = socket;
    return socket;
}

/// What is broken off has its place until its thread has noticed: who comes faster than that waits.
bool HttpServer::make_place()
{
    constexpr std::size_t most_leaving = 64;
    constexpr std::chrono::seconds fresh{1}; // its request may be on its way, or here and unread
    return drop_longest_idle(fresh) ||
           (open_ < settings_.connections + most_leaving && arrivals_.break_longest()) ||
           drop_longest_idle({});
}

/// Of those that have been idle for at least that long.
bool HttpServer::drop_longest_idle(Clock::duration least)
{
    int descriptor = -1;
    {
        const std::lock_guard lock(mutex_);
        if (parked_.empty() || Clock::now() - parked_.front().since < least) {
            return false;
        }
        descriptor = parked_.front().socket->descriptor();
    }
    return unpark(descriptor) != nullptr;
}

void HttpServer::drop_idle(Clock::duration longest)
{
    const auto now = Clock::now();
    std::vector<Socket> dropped; // closed outside the lock
    const std::lock_guard lock(mutex_);
    while (!parked_.empty() && now - parked_.front().since > longest) {
        auto socket = std::move(parked_.front().socket);
        ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, socket->descriptor(), nullptr);
        by_descriptor_.erase(socket->descriptor());
        parked_.pop_front();
        dropped.push_back(std::move(socket));
    }
}

/// What idle peers have read meanwhile.
void HttpServer::look_at_idle()
{
    const std::lock_guard lock(mutex_);
    for (const auto& each : parked_) {
        (void)each.socket->unread().look();
    }
}

void HttpServer::start(Socket socket)
{
    try {
        pool_.run([this, socket = std::move(socket)] { serve(socket); });
    } catch (const std::system_error&) {
        return; // no thread can be had; the peer sees its connection end, and tries again
    }
}

void HttpServer::serve(const Socket& socket)
{
    ++busy_;
    bool goes_on = true;
    try {
        while (goes_on && serve_one(socket)) {
            --busy_;
            goes_on = !stopped_ && wait_for_next(*socket);
            ++busy_;
        }
    } catch (const std::exception&) {
        goes_on = false; // out of memory, with nothing to tell it with
        socket->break_off();
    }
    --busy_;
    if (!goes_on && !stopped_ && !socket->is_gone() && !socket->has_more()) {
        park(socket);
    } else {
        const std::lock_guard lock(mutex_);
        serving_.erase(socket->descriptor());
    }
}

/// Whether it comes soon. What the peer has read meanwhile is looked at, too.
bool HttpServer::wait_for_next(HttpSocket& socket)
{
    const auto end = Clock::now() + lingering;
    while (!socket.has_more()) {
        const auto look = socket.unread().look();
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
        if (left.count() <= 0) {
            return false;
        }
        const auto time = look.count() < 0 ? left : std::min(left, look);
        pollfd waiting{.fd = socket.descriptor(), .events = POLLIN, .revents = 0};
        if (::poll(&waiting, 1, static_cast<int>(time.count())) > 0) {
            (void)socket.unread().look();
            return true;
        }
    }
    return true;
}

/// Whether the connection may have another request.
bool HttpServer::serve_one(const Socket& socket)
{
    HttpArrivals::Stay stay(arrivals_, *socket);
    std::string text;
    const auto read =
        socket->read_head(text, settings_.head.bytes, Deadline::after(settings_.head_time));
    if (read == HttpSocket::Head::closed) {
        socket->break_off();
        return false;
    }
    try {
        if (stay.is_broken()) {
            return false;
        }
        if (read == HttpSocket::Head::late) {
            throw HttpError(408, "the head of the request did not come in time");
        }
        if (read == HttpSocket::Head::too_long) {
            throw HttpError(431, "the head is longer than " + std::to_string(settings_.head.bytes) +
                                     " bytes");
        }
        if (answer(socket, parse_http_head(text, settings_.head), stay)) {
            return true;
        }
    } catch (const HttpError& error) {
        (void)answer_unread(*socket, {.method = "GET", .keep_alive = false},
                            handler_.refuse(error.status(), error.what()));
    }
    socket->unread().settle(std::chrono::milliseconds(50));
    socket->linger();
    socket->break_off();
    return false;
}

HttpAdmission HttpServer::admit(const HttpHead& head, const HttpSocket& socket)
{
    try {
        return handler_.admit(head, socket);
    } catch (const std::exception&) {
        HttpAdmission refused{.refusal = handler_.refuse(500, "the server has failed")};
        refused.refusal->close = true;
        return refused;
    }
}

bool HttpServer::answer(const Socket& socket, const HttpHead& head, HttpArrivals::Stay& stay)
{
    auto admission = admit(head, *socket);
    stay.belongs_to(admission.account.get());
    if (!admission.refusal && head.content_length.value_or(0) > settings_.body) {
        admission.refusal = refuse_length();
    }
    if (admission.refusal) {
        admission.refusal->close = admission.refusal->close || head.has_body();
        add_fields(*admission.refusal, admission.fields);
        return answer_unread(*socket, head, std::move(*admission.refusal));
    }
    const auto room = std::make_shared<HttpRoom>(
        bodies_, std::move(admission.account),
        HttpRoom::Limits{.all = settings_.bodies, .body = settings_.body});
    Body body(settings_.body, *room);
    const auto deadline = Deadline::after(settings_.body_time);
    socket->set_read_deadline(deadline);
    return library_.process(
        *socket, head, head.has_body(), [&](std::string_view piece) { return body.take(piece); },
        [&](bool whole) {
            return made([&] {
                // What anybody may ask for keeps no place from others, also while it is written.
                const bool goes_on = whole && admission.context ? stay.end() : !stay.is_broken();
                auto answer =
                    !goes_on               ? refuse_broken()
                    : body.status() == 413 ? refuse_length()
                    : body.status() != 0   ? handler_.refuse(503, "too many bodies are being read")
                    : whole
                        ? handler_.answer({head, body.release(), socket, admission.context, room})
                    : deadline.expired() ? handler_.refuse(408, "the body of the request did not "
                                                                "come in time")
                                         : handler_.refuse(400, "the body of the request did not "
                                                                "come whole");
                answer.close = answer.close || stopped_;
                if (goes_on && !answer.then) {
                    stay.again(); // of no call: who reads none of these would keep all places
                }
                if (head.method == "HEAD" && head.has_body()) {
                    // The library takes it for a POST: what follows a head would be the beginning
                    // of another's answer, behind a proxy that shares the connection.
                    answer.body.clear();
                    answer.close = true;
                }
                add_fields(answer, admission.fields);
                return answer;
            });
        });
}

/// Which nobody reads, but metrics count.
HttpAnswer HttpServer::refuse_broken()
{
    auto answer = handler_.refuse(503, "others needed the place of this connection");
    answer.close = true;
    return answer;
}

HttpAnswer HttpServer::refuse_length()
{
    return handler_.refuse(413,
                           "the body is longer than " + std::to_string(settings_.body) + " bytes");
}

/// Counts it. What `make` throws the library answers with 500.
HttpAnswer HttpServer::made(const std::function<HttpAnswer()>& make)
{
    try {
        auto answer = make();
        traffic_.answered(answer.status);
        return answer;
    } catch (...) {
        traffic_.answered(500);
        throw;
    }
}

/// To a request of which nothing more is read.
bool HttpServer::answer_unread(HttpSocket& socket, const HttpHead& head, HttpAnswer answer)
{
    return library_.process(
        socket, head, false, [](std::string_view) { return false; },
        [&](bool) { return made([&] { return std::move(answer); }); });
}

} // namespace berth::transport
