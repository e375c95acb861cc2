#include "sandbox/e2b/http.hpp"
#include "sandbox/e2b/http_pool.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::e2b {
namespace {

ErrorCode code_of(HttpFailure::Cause cause) noexcept
{
    if (cause == HttpFailure::Cause::cancelled) {
        return ErrorCode::cancelled;
    }
    return cause == HttpFailure::Cause::too_large ? ErrorCode::backend_error
                                                  : ErrorCode::sandbox_unavailable;
}

/// Printable ASCII: a line end in a token that a server or a file gave would begin a header, or a
/// request, of whoever wrote it.
bool is_plain(std::string_view text, bool blanks) noexcept
{
    return std::all_of(text.begin(), text.end(),
                       [&](char c) { return c < '\x7f' && (blanks ? c >= ' ' : c > ' '); });
}

void check(const HttpRequest& request)
{
    const bool plain =
        is_plain(request.method, false) && is_plain(request.target, false) &&
        request.target.starts_with('/') &&
        std::all_of(request.headers.begin(), request.headers.end(), [](const auto& header) {
            return is_plain(header.first, false) && is_plain(header.second, true);
        });
    if (!plain) {
        throw Error(ErrorCode::invalid_argument,
                    "a request to E2B has characters in its head that may not be there");
    }
}

} // namespace

std::string HttpHead::header(std::string_view name) const
{
    const auto found = std::find_if(headers.begin(), headers.end(),
                                    [&](const auto& header) { return header.first == name; });
    return found != headers.end() ? found->second : std::string();
}

HttpFailure::HttpFailure(Cause cause, bool unsent, const std::string& message, std::string hint)
    : Error(code_of(cause), message, std::move(hint)), cause_(cause), unsent_(unsent)
{
    set_retryable(unsent && cause != Cause::cancelled);
}

HttpExchange::HttpExchange(std::shared_ptr<HttpTransfer> transfer) noexcept
    : transfer_(std::move(transfer))
{
}

HttpExchange& HttpExchange::operator=(HttpExchange&& other) noexcept
{
    if (this != &other) {
        cut();
        transfer_ = std::move(other.transfer_);
    }
    return *this;
}

HttpExchange::~HttpExchange()
{
    cut();
}

bool HttpExchange::write(std::string_view bytes, const Deadline& deadline,
                         const std::stop_token& stop)
{
    return transfer_->write(bytes, deadline, stop);
}

void HttpExchange::finish() noexcept
{
    transfer_->finish();
}

const HttpHead& HttpExchange::head(const Deadline& deadline, const std::stop_token& stop)
{
    return transfer_->head(deadline, stop);
}

std::size_t HttpExchange::read(char* data, std::size_t size, const Deadline& deadline,
                               const std::stop_token& stop)
{
    return transfer_->read(data, size, deadline, stop);
}

bool HttpExchange::sent() const
{
    return transfer_->sent();
}

void HttpExchange::cut() noexcept
{
    if (transfer_) {
        transfer_->cut();
    }
}

HttpClient::HttpClient(HttpSettings settings)
    : pool_(std::make_shared<HttpPool>(std::move(settings)))
{
}

HttpClient::~HttpClient() = default;

HttpExchange HttpClient::open(const Endpoint& endpoint, HttpRequest request)
{
    check(request);
    auto transfer = std::make_shared<HttpTransfer>(endpoint.shown(), std::move(request));
    pool_->begin(endpoint, transfer);
    return HttpExchange(std::move(transfer));
}

HttpReply HttpClient::request(const Endpoint& endpoint, HttpRequest request, std::size_t largest,
                              const Deadline& deadline, const std::stop_token& stop)
{
    check(request);
    const auto transfer = std::make_shared<HttpTransfer>(endpoint.shown(), std::move(request));
    pool_->begin(endpoint, transfer);
    HttpExchange exchange(transfer);
    try {
        HttpReply reply{exchange.head(deadline, stop), {}};
        reply.body = read_rest(exchange, largest, deadline, stop);
        return reply;
    } catch (const HttpFailure& failure) {
        throw transfer->give_up(failure);
    }
}

std::size_t HttpClient::idle() const
{
    return pool_->idle();
}

std::string read_rest(HttpExchange& exchange, std::size_t largest, const Deadline& deadline,
                      const std::stop_token& stop)
{
    std::string body;
    std::array<char, 16'384> piece{};
    for (;;) {
        const auto size = exchange.read(piece.data(), piece.size(), deadline, stop);
        if (size == 0) {
            return body;
        }
        if (size > largest - body.size()) {
            throw HttpFailure(HttpFailure::Cause::too_large, false,
                              "the answer of a server is above " + std::to_string(largest) +
                                  " bytes",
                              "Look at E2B_API_URL and E2B_SANDBOX_URL: do they lead to E2B?");
        }
        body.append(piece.data(), size);
    }
}

} // namespace berth::e2b
