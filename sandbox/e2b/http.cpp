#include "sandbox/base/small_letters.hpp"
#include "sandbox/e2b/http_connection.hpp"

#include <httplib.h>

#include <algorithm>
#include <utility>
#include <vector>

// cpp-httplib 0.11.4 (Debian 12) to 0.53 (the wrap), by what is common to all of them. What its
// client lacks for streams is made around it, here and in http_transfer.cpp:
// - It has timeouts for each read, none for the whole, and getaddrinfo(3) has none at all. So its
//   calls run in threads of their own and the caller waits for them as long as it wants to.
// - stop() waits while a connection is being made, and does nothing before. So a duplicate of its
//   socket is held, which is shut down.
// - Over TLS it may wait in SSL_peek() without a timeout, later releases send a request again whose
//   connection ended: the shutdown ends the one, and the body that begins only once the other.
// - After 100 it reads on, and takes any other status below 200 for the answer, and the answer for
//   its body: so nothing of that is told, since it may have a sandbox's token.
// - It reads a head of any length. So do others, but E2B's proxies pass on 10 MB at most of what a
//   sandbox says.

namespace berth::e2b {
namespace {

/// Of the library, for one read or write: what was cut and has not noticed ends by itself.
constexpr std::chrono::seconds longest_silence{600};
constexpr std::size_t body_piece = 64U << 10U;

/// The library decodes %0d%0a in the value of a header: what is not printable is not believed.
bool is_printable(std::string_view value)
{
    return std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
}

HttpHead head_of(const httplib::Response& response)
{
    HttpHead head;
    head.status = response.status;
    for (const auto& [name, value] : response.headers) {
        if (is_printable(value)) {
            head.headers.emplace_back(in_small_letters(name), value);
        }
    }
    return head;
}

template <class Code>
bool is_of_tls(Code error)
{
    if constexpr (requires { Code::SSLServerHostnameVerification; }) { // of later releases
        if (error == Code::SSLServerHostnameVerification) {
            return true;
        }
    }
    return error == Code::SSLConnection || error == Code::SSLLoadingCerts ||
           error == Code::SSLServerVerification;
}

template <class Code>
bool is_of_connecting(Code error)
{
    if constexpr (requires { Code::ProxyConnection; }) {
        if (error == Code::ProxyConnection) {
            return true;
        }
    }
    return error == Code::Connection || error == Code::ConnectionTimeout ||
           error == Code::BindIPAddress;
}

/// Only what is known to come before a request is told as such.
void tell_failure(HttpTransfer& transfer, httplib::Error error, bool proxied)
{
    using Cause = HttpFailure::Cause;
    const auto name = " (" + httplib::to_string(error) + ")";
    if (is_of_tls(error) && proxied) { // as the library also has it where the proxy refuses
        transfer.fail(Cause::unconnected, "no TLS connection through the proxy" + name,
                      "Look whether the proxy (HTTPS_PROXY) lets this host connect there, or leave "
                      "it out (NO_PROXY); then at the clock and the certificates of this host "
                      "(ca-certificates; SSL_CERT_FILE names others).");
    } else if (is_of_tls(error)) {
        transfer.fail(Cause::unconnected, "no TLS connection that can be trusted" + name,
                      "Look at the clock and the certificates of this host (ca-certificates; "
                      "SSL_CERT_FILE names others), and whether a proxy is between.");
    } else if (is_of_connecting(error)) {
        transfer.fail(Cause::unconnected, "no connection" + name,
                      "Look whether this host reaches it: its network, its name server, "
                      "HTTPS_PROXY and NO_PROXY.");
    } else {
        transfer.fail(Cause::broken, "the connection ended before the answer did" + name, {});
    }
}

/// Targets go as they are given. Releases have different names for that, and those of today would
/// turn the %20 of a query into a +.
template <class Client>
void encode_nothing(Client& client)
{
    if constexpr (requires { client.set_path_encode(false); }) {
        client.set_path_encode(false);
    } else {
        client.set_url_encode(false);
    }
}

void give_body(httplib::Request& request, HttpTransfer& transfer)
{
    const auto& body = transfer.request().body;
    request.content_length_ = body.size();
    request.content_provider_ = [&](std::size_t offset, std::size_t length,
                                    httplib::DataSink& sink) {
        if (offset == 0 && !transfer.begin_body()) {
            return false;
        }
        return sink.write(body.data() + offset, length);
    };
}

/// Piece by piece, until the caller ends it or the server has: then no more is sent, not the end of
/// the chunks either, which would make a whole body of half a one, and the answer is read.
void stream_body(httplib::Request& request, HttpTransfer& transfer, SocketHold& socket)
{
    request.headers.emplace("Transfer-Encoding", "chunked");
    request.is_chunked_content_provider_ = true;
    request.content_provider_ = [&, piece = std::vector<char>(body_piece),
                                 stopped = false](std::size_t offset, std::size_t /*length*/,
                                                  httplib::DataSink& sink) mutable {
        if (stopped || (offset == 0 && !transfer.begin_body())) {
            return false;
        }
        const auto size = transfer.more_body(piece.data(), piece.size());
        if (!size) {
            return false;
        }
        if (!socket.takes_more()) {
            stopped = true;
            return sink.write(piece.data(), 0); // by which the library goes on to the answer
        }
        if (*size == 0) {
            sink.done();
            transfer.set_sent();
            return true;
        }
        return sink.write(piece.data(), *size);
    };
}

} // namespace

struct HttpConnection::Library {
    std::unique_ptr<httplib::ClientImpl> client;
    std::string host; ///< for the header
    std::string prefix;
    bool proxied = false;
    bool silent_about_proxy = false;

    [[nodiscard]] httplib::Request converted(HttpTransfer& transfer, SocketHold& socket) const;
};

httplib::Request HttpConnection::Library::converted(HttpTransfer& transfer,
                                                    SocketHold& socket) const
{
    const auto& asked = transfer.request();
    httplib::Request request;
    request.method = asked.method;
    request.path = prefix + asked.target;
    request.headers.emplace("Host", host);
    for (const auto& [name, value] : asked.headers) {
        request.headers.emplace(name, value);
    }
    if (silent_about_proxy) {
        // The library sends the proxy's password to the server behind it too, unless there is one.
        request.headers.emplace("Proxy-Authorization", "");
    }
#ifdef CPPHTTPLIB_EXPECT_100_THRESHOLD
    // Without it bodies above 1 KiB wait a second for a server that does not know the question.
    request.headers.emplace("Expect", "");
#endif
    if (asked.streamed) {
        stream_body(request, transfer, socket);
    } else if (!asked.body.empty()) {
        give_body(request, transfer);
    }
    return request;
}

HttpConnection::HttpConnection(const Endpoint& endpoint, const HttpSettings& settings)
    : socket_(std::make_shared<SocketHold>()), library_(std::make_unique<Library>())
{
    if (endpoint.tls) {
        auto client = std::make_unique<httplib::SSLClient>(endpoint.host, endpoint.port);
        client->enable_server_certificate_verification(true);
        if (!settings.authorities.empty()) {
            client->set_ca_cert_path(settings.authorities);
        }
        library_->client = std::move(client);
    } else {
        library_->client = std::make_unique<httplib::ClientImpl>(endpoint.host, endpoint.port);
    }
    auto& client = *library_->client;
    const bool usual = endpoint.port == (endpoint.tls ? 443 : 80);
    library_->host = usual && endpoint.host.find(':') == std::string::npos ? endpoint.host
                                                                           : endpoint.authority();
    library_->prefix = endpoint.prefix;
    client.set_keep_alive(true);
    client.set_tcp_nodelay(true);
    client.set_follow_location(false); // the key would go where a server says
    client.set_decompress(false);
    encode_nothing(client);
    client.set_connection_timeout(settings.connect);
    client.set_read_timeout(longest_silence);
    client.set_write_timeout(longest_silence);
    client.set_socket_options([hold = socket_](auto socket) { hold->hold(socket); });
    if (const auto proxy = settings.proxies.for_endpoint(endpoint)) {
        client.set_proxy(proxy->host, proxy->port);
        library_->proxied = true;
        if (!proxy->user.empty()) {
            client.set_proxy_basic_auth(proxy->user, proxy->password);
            library_->silent_about_proxy = endpoint.tls;
        }
    }
}

HttpConnection::~HttpConnection() = default;

bool HttpConnection::is_usable() const noexcept
{
    return !closed_ && !socket_->is_shut();
}

bool HttpConnection::exchange(HttpTransfer& transfer)
{
    if (!transfer.attach(socket_)) {
        transfer.fail(HttpFailure::Cause::cut, "ended from this side", {});
        return false;
    }
    auto request = library_->converted(transfer, *socket_);
    bool has_head = false;
    int interim = 0;
    const auto take_head = [&](const httplib::Response& response) {
        auto head = head_of(response);
        closed_ = in_small_letters(head.header("connection")) == "close";
        transfer.set_head(std::move(head));
        return has_head = true;
    };
    const bool proxied = library_->proxied;
    request.response_handler = [&](const httplib::Response& response) {
        if (response.status < 200) {
            interim = response.status;
            return false;
        }
        return (proxied && response.status == 407) || take_head(response);
    };
    request.content_receiver = [&](const char* data, std::size_t size, auto, auto) {
        return transfer.take_body({data, size});
    };
    httplib::Response response;
    auto error = httplib::Error::Success;
    const bool done = library_->client->send(request, response, error);
    transfer.detach();
    // Half a body is on it.
    closed_ = closed_ || (transfer.request().streamed && !transfer.sent());
    if (interim != 0) {
        transfer.fail(HttpFailure::Cause::broken,
                      "an answer before the answer (" + std::to_string(interim) +
                          "), which nobody has asked for",
                      "Look at the proxies on the way: they may not send such ones to berth.");
        return false;
    }
    if (!done) {
        tell_failure(transfer, error, proxied);
        return false;
    }
    if (proxied && response.status == 407) {
        transfer.fail(HttpFailure::Cause::unconnected, "the proxy wants a user and a password",
                      "Write them into HTTPS_PROXY: http://USER:PASSWORD@HOST:PORT.");
        return false;
    }
    if (!has_head) { // not told by the library where there is no body
        static_cast<void>(take_head(response));
    }
    return true;
}

} // namespace berth::e2b
