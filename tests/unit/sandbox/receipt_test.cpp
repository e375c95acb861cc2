#include "sandbox/late_words.hpp"
#include "sandbox/receipt.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using berth::sandbox::LateWords;
using berth::sandbox::Receipt;

// What is said of an answer whose connection was not kept.

namespace {

using Names = std::vector<std::string>;

struct Said {
    std::shared_ptr<LateWords> words = std::make_shared<LateWords>(std::chrono::seconds(60));

    [[nodiscard]] Receipt receipt(const std::string& call) const { return {call, words}; }

    [[nodiscard]] Names seen() const { return words->some().seen; }

    [[nodiscard]] Names declined() const { return words->some().declined; }

    [[nodiscard]] Names given_up() const { return words->some().given_up; }
};

} // namespace

TEST_CASE("a receipt that goes without a word says that its result has reached nobody")
{
    const Said said;
    {
        const auto receipt = said.receipt("a");
        CHECK(said.given_up().empty());
    }
    CHECK(said.given_up() == Names{"a"});
    CHECK(said.words->size() == 1);
}

TEST_CASE("a receipt says one word, whatever becomes of it then")
{
    const Said said;
    {
        auto read = said.receipt("read");
        read.acknowledge();
        read.decline();
        auto declined = said.receipt("declined");
        declined.decline();
        declined.acknowledge();
    }
    CHECK(said.seen() == Names{"read"});
    CHECK(said.declined() == Names{"declined"});
    CHECK(said.given_up().empty());
}

TEST_CASE("a receipt that another takes the place of is gone, and one that was moved is not")
{
    const Said said;
    auto receipt = said.receipt("first");
    receipt = said.receipt("second");
    CHECK(said.given_up() == Names{"first"});
    {
        auto moved = std::move(receipt);
        CHECK(said.words->size() == 1);
        moved.acknowledge();
    }
    CHECK(said.seen() == Names{"second"});
    receipt = {};
    CHECK(said.given_up() == Names{"first"});
}
