#include "sandbox/filter/proxy/answers.hpp"

#include <string_view>

namespace berth::filter {
namespace {

std::string_view phrase_of(unsigned status)
{
    switch (status) {
    case denied_status:
        return "Forbidden";
    case 405:
        return "Method Not Allowed";
    case 421:
        return "Misdirected Request";
    case head_too_large:
        return "Request Header Fields Too Large";
    case 501:
        return "Not Implemented";
    case bad_gateway:
        return "Bad Gateway";
    case gateway_timeout:
        return "Gateway Timeout";
    default:
        return "Bad Request";
    }
}

} // namespace

std::string page(unsigned status, const std::string& text)
{
    const std::string body = "berth: " + text + "\n";
    return "HTTP/1.1 " + std::to_string(status) + ' ' + std::string(phrase_of(status)) +
           "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

} // namespace berth::filter
