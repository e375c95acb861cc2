#include "sandbox/session/registry.hpp"
#include "sandbox/workspace/store.hpp"
#include "tests/unit/session/manager_fixture.hpp"
#include "tools/sandbox_call.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

// A call whose machine goes between its lease and itself.

using namespace berth;
using namespace std::chrono_literals;
using tests::work;

namespace {

struct Fixture : tests::ManagerFixture {
    std::unique_ptr<workspace::Store> store =
        workspace::make_directory_store(directory / "workspace");
    tools::Settings limits;

    /// That another server, which has died, was to tell.
    void leave_untold(const std::string& notice) const
    {
        const auto key = session::key_hash(work);
        const auto books = session::make_file_registry(settings.state_directory);
        const auto lock = books->lock(key, Deadline::after(5s));
        auto record = *books->find(key);
        record.untold = {notice};
        books->put(key, record);
    }
};

} // namespace

TEST_CASE_FIXTURE(Fixture,
                  "what is told of a machine that went, and of the one before, is told once")
{
    (void)start()->acquire(work);
    end_machine(work);
    leave_untold("an outcome");
    const auto manager = start();
    tools::Context context{*manager, *store, limits, work, false, {}, {}};
    int tries = 0;
    const int made = tools::with_sandbox(context, [&](sandbox::Sandbox& /*sandbox*/) {
        if (++tries == 1) {
            end_machine(work);
            throw sandbox::Unsent(Error(ErrorCode::session_lost, "it has gone"));
        }
        return tries;
    });
    CHECK(made == 2);
    const auto& told = context.told.notices;
    CHECK(std::ranges::count(told, "an outcome") == 1);
    CHECK(std::ranges::count_if(told, [](const std::string& notice) {
              return notice.starts_with("the sandbox was lost");
          }) == 1);
    CHECK(told.size() == 2);
    for (const auto& receipt : context.told.receipts) {
        receipt->acknowledge();
    }
    CHECK(manager->acquire(work).notices.empty());
    CHECK(start()->acquire(work).notices.empty());
}
