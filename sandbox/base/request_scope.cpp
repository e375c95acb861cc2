#include "sandbox/base/request_scope.hpp"

#include "sandbox/base/random.hpp"

#include <array>
#include <cstdio>
#include <utility>

namespace berth {
namespace {

thread_local RequestScope* innermost = nullptr;

} // namespace

RequestScope::RequestScope(std::string traceparent)
    : id_(random_hex(id_size / 2)), traceparent_(std::move(traceparent)),
      outer_(std::exchange(innermost, this))
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
