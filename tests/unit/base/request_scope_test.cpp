#include "sandbox/base/request_scope.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>

using berth::RequestScope;

TEST_CASE("a thread is at the innermost request that it has begun, and no other thread is")
{
    CHECK(RequestScope::current() == nullptr);
    {
        const RequestScope outer("trace");
        CHECK(RequestScope::current() == &outer);
        CHECK(outer.id().size() == RequestScope::id_size);
        CHECK(outer.id().find_first_not_of("0123456789abcdef") == std::string::npos);
        CHECK(outer.traceparent() == "trace");
        {
            const RequestScope inner({});
            CHECK(RequestScope::current() == &inner);
            CHECK(inner.id() != outer.id());
        }
        CHECK(RequestScope::current() == &outer);
        const RequestScope* seen = &outer;
        std::jthread([&] { seen = RequestScope::current(); }).join();
        CHECK(seen == nullptr);
    }
    CHECK(RequestScope::current() == nullptr);
}

TEST_CASE("what a request does has names of its own that begin with its id")
{
    RequestScope scope({});
    CHECK(scope.next_name() == scope.id() + "00000001");
    CHECK(scope.next_name() == scope.id() + "00000002");
}
