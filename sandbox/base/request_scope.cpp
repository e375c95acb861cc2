#include "sandbox/base/request_scope.hpp"

#include "sandbox/base/random.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

namespace berth {
namespace {

thread_local RequestScope* innermost = nullptr;

/// The kernel is asked for many at once: to ask takes longer than much of a short call.
std::string new_id()
{
    constexpr std::size_t at_once = 20;
    thread_local std::string unused;
    if (unused.empty()) {
        unused = random_hex(at_once * RequestScope::id_size / 2);
    }
    auto id = unused.substr(unused.size() - RequestScope::id_size);
    unused.resize(unused.size() - RequestScope::id_size);
    return id;
}

} // namespace

RequestScope::RequestScope(std::string traceparent)
    : id_(new_id()), traceparent_(std::move(traceparent)), outer_(std::exchange(innermost, this))
{
}

RequestScope::~RequestScope()
{
    innermost = outer_;
}

RequestScope* RequestScope::current() noexcept
{
    return innermost;
}

std::string RequestScope::next_name()
{
    std::array<char, 9> number{};
    std::snprintf(number.data(), number.size(), "%08x", static_cast<unsigned>(++names_));
    return id_ + number.data();
}

} // namespace berth
