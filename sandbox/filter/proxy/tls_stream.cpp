#include "sandbox/filter/proxy/tls_stream.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace berth::filter {

/// What OpenSSL moves bytes by: a socket of which some were read already.
struct TlsStream::Socket {
    /// Records of handshakes behind the first one. Keys are changed, and tickets sent, every few
    /// gigabytes; but each makes work here, and whoever sends nothing else never has to stop:
    /// OpenSSL, which reads on until there is something to tell, counts none of them.
    static constexpr unsigned most_handshakes = 100;

    int descriptor = -1;
    std::string received;
    std::size_t taken = 0; ///< of those
    bool has_ended = false;
    unsigned handshakes = 0;

    /// Of each record its header comes by; in TLS 1.3, where that says nothing, what kind it is.
    static void look(int is_sent, int /*version*/, int kind, const void* bytes, std::size_t size,
                     SSL* tls, void* data)
    {
        const bool tells = kind == SSL3_RT_HEADER || kind == SSL3_RT_INNER_CONTENT_TYPE;
        if (is_sent == 0 && tells && size > 0 && ::SSL_is_init_finished(tls) == 1 &&
            *static_cast<const unsigned char*>(bytes) == SSL3_RT_HANDSHAKE) {
            ++static_cast<Socket*>(data)->handshakes;
        }
    }

    static Socket& of(BIO* bio) { return *static_cast<Socket*>(::BIO_get_data(bio)); }

    static int done(BIO* bio, ssize_t size, int direction)
    {
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
            ::BIO_set_flags(bio, direction | BIO_FLAGS_SHOULD_RETRY);
        }
        return static_cast<int>(size);
    }

    static int read(BIO* bio, char* to, int size)
    {
        auto& socket = of(bio);
        const auto room = static_cast<std::size_t>(size);
        ::BIO_clear_retry_flags(bio);
        if (socket.handshakes > most_handshakes) {
            return -1;
        }
        if (const auto left = socket.received.size() - socket.taken; left > 0) {
            const auto count = std::min(left, room);
            std::copy_n(socket.received.data() + socket.taken, count, to);
            socket.taken += count;
            return static_cast<int>(count);
        }
        const ssize_t got = ::recv(socket.descriptor, to, room, 0);
        socket.has_ended = got == 0;
        return done(bio, got, BIO_FLAGS_READ);
    }

    static int write(BIO* bio, const char* from, int size)
    {
        ::BIO_clear_retry_flags(bio);
        const ssize_t sent =
            ::send(of(bio).descriptor, from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
        return done(bio, sent, BIO_FLAGS_WRITE);
    }

    static long control(BIO* /*bio*/, int command, long /*number*/, void* /*data*/)
    {
        return command == BIO_CTRL_FLUSH ? 1 : 0;
    }

    static const BIO_METHOD* method()
    {
        static const BIO_METHOD* const made = [] {
            auto* const fresh = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK,
                                               "a socket and what was read of it");
            if (fresh == nullptr || ::BIO_meth_set_read(fresh, &read) != 1 ||
                ::BIO_meth_set_write(fresh, &write) != 1 ||
                ::BIO_meth_set_ctrl(fresh, &control) != 1) {
                throw std::bad_alloc();
            }
            return fresh;
        }();
        return made;
    }
};

namespace {

std::string last_error()
{
    const auto code = ::ERR_peek_last_error();
    const char* const text = code == 0 ? nullptr : ::ERR_reason_error_string(code);
    return text == nullptr ? "the connection was closed" : text;
}

} // namespace

void FreeTls::operator()(SSL* tls) const noexcept
{
    ::SSL_free(tls);
}

TlsStream::TlsStream(Tls tls, int socket, std::string received)
    : socket_(
          std::make_unique<Socket>(Socket{.descriptor = socket, .received = std::move(received)})),
      tls_(std::move(tls))
{
    BIO* const bio = ::BIO_new(Socket::method());
    if (bio == nullptr) {
        throw std::bad_alloc();
    }
    ::BIO_set_data(bio, socket_.get());
    ::BIO_set_init(bio, 1);
    ::SSL_set_bio(tls_.get(), bio, bio);
    ::SSL_set_msg_callback(tls_.get(), &Socket::look);
    (void)::SSL_ctrl(tls_.get(), SSL_CTRL_SET_MSG_CALLBACK_ARG, 0, socket_.get());
}

TlsStream::~TlsStream() = default;

std::string TlsStream::shake_hands(const Deadline& deadline)
{
    for (;;) {
        ::ERR_clear_error();
        const int done = ::SSL_do_handshake(tls_.get());
        if (done == 1) {
            return {};
        }
        const int why = ::SSL_get_error(tls_.get(), done);
        if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
            return last_error();
        }
        const bool reads = why == SSL_ERROR_WANT_READ;
        pollfd waiting{socket_->descriptor, static_cast<short>(reads ? POLLIN : POLLOUT), 0};
        const int count = ::poll(&waiting, 1, deadline.poll_timeout());
        if (count == 0) {
            return "it does not answer in time";
        }
        if (count < 0 && errno != EINTR) {
            return "it cannot be waited for";
        }
    }
}

std::string TlsStream::wrong_certificate() const
{
    const long verdict = ::SSL_get_verify_result(tls_.get());
    return verdict == X509_V_OK ? "" : ::X509_verify_cert_error_string(verdict);
}

int TlsStream::descriptor() const noexcept
{
    return socket_->descriptor;
}

Stream::Moved TlsStream::receive(std::span<char> buffer) noexcept
{
    ::ERR_clear_error();
    std::size_t size = 0;
    const int done = ::SSL_read_ex(tls_.get(), buffer.data(), buffer.size(), &size);
    reading_sends_ = false;
    if (done == 1) {
        return {.outcome = Outcome::moved, .size = size};
    }
    switch (::SSL_get_error(tls_.get(), done)) {
    case SSL_ERROR_WANT_WRITE:
        reading_sends_ = true;
        return {};
    case SSL_ERROR_WANT_READ:
        return {};
    case SSL_ERROR_ZERO_RETURN:
        return {.outcome = Outcome::ended};
    default:
        return {.outcome = socket_->has_ended ? Outcome::cut : Outcome::broken};
    }
}

Stream::Moved TlsStream::send(std::string_view bytes) noexcept
{
    ::ERR_clear_error();
    std::size_t size = 0;
    const int done = ::SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &size);
    if (done == 1) {
        return {.outcome = Outcome::moved, .size = size};
    }
    return {.outcome = ::SSL_get_error(tls_.get(), done) == SSL_ERROR_WANT_WRITE ? Outcome::later
                                                                                 : Outcome::closed};
}

short TlsStream::events(short wanted) const noexcept
{
    const bool waits = reading_sends_ && (wanted & POLLIN) != 0;
    return static_cast<short>(wanted | (waits ? POLLOUT : 0));
}

bool TlsStream::has_more() const noexcept
{
    // Not SSL_has_pending(), which is so of half a record too: whoever sends no more of it would
    // have this process look for the rest without end.
    return ::SSL_pending(tls_.get()) > 0 || socket_->taken < socket_->received.size();
}

void TlsStream::end() noexcept
{
    ::ERR_clear_error();
    (void)::SSL_shutdown(tls_.get());
    (void)::shutdown(socket_->descriptor, SHUT_WR);
}

} // namespace berth::filter
