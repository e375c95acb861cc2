#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/protocol/frame.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace berth::guest {

class Call;

/// What became of the calls that have a name: which run, how the last ones were answered, and of
/// the older ones only that they were, for a minute at least: a repetition may be that late. Never
/// of so many that it matters: what is above the limits is let go, the oldest first. Belongs to the
/// loop's thread.
class AnswerBook {
  public:
    struct Limits {
        std::size_t names = 1024; ///< a name that runs counts, and is not let go
        /// What is above that is remembered for so long in which the host was awake, with nothing
        /// but its name: longer than a server takes for all its repetitions.
        std::chrono::milliseconds remembered{60'000};
        std::size_t most_remembered = 128UL * 1024; ///< about 60 bytes each
        std::size_t answers = 64;
        std::size_t bytes = 4UL * 1024 * 1024; ///< of answers
    };

    /// Enough of a request to tell it from any other that a server could mistake it for.
    struct Request {
        std::uint16_t operation = 0;
        std::size_t size = 0;
        std::size_t hash = 0;

        friend bool operator==(const Request&, const Request&) = default;
    };

    struct Answer {
        protocol::FrameType type = protocol::FrameType::error; ///< or reply
        std::string payload;
        std::shared_ptr<Call> call; ///< whose it is, for as long as it is kept
    };

    enum class Standing : unsigned char {
        unknown,  ///< it never came
        running,  ///< it has not been answered
        answered, ///< see answer()
        let_go,   ///< it was answered, and how is not known any more
    };

    AnswerBook() = default;

    explicit AnswerBook(const Limits& limits) : limits_(limits) {}

    [[nodiscard]] Standing standing(const std::string& name) const;

    /// Whether the call of that name, which is not unknown, is this one, as far as it is known.
    [[nodiscard]] bool is_of(const std::string& name, const Request& request) const;

    /// No other call can begin now: to know it, the book would have to forget one too early.
    [[nodiscard]] bool is_full();

    /// A call that was unknown runs from now on. The book is not full.
    void begin(const std::string& name, const Request& request);

    /// Of a call that runs; else nothing happens: the first answer counts.
    void keep(const std::string& name, Answer answer);

    /// Null when there is none. Valid until the book is changed.
    [[nodiscard]] const Answer* answer(const std::string& name) const;

    /// Its answer will not be asked for, or never come.
    void let_go(const std::string& name);

    /// Answers that are kept.
    [[nodiscard]] std::size_t answers() const noexcept { return kept_.size(); }

    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

    [[nodiscard]] std::size_t names() const noexcept { return entries_.size(); }

  private:
    struct Entry {
        std::string name;
        Request request;
        Standing standing = Standing::running;
        Answer answer;
        /// What is to be added to `kept_`, made before the call does anything: an answer is kept
        /// when memory is fullest, and a few bytes behind all that would hold a page for as long.
        std::list<Entry*> place;
        std::list<Entry*>::iterator kept; ///< in one of the two
    };

    void drop_answer(Entry& entry);
    void drop_names();
    void forget_late();

    Limits limits_;
    std::list<Entry> entries_; ///< oldest first
    std::unordered_map<std::string, std::list<Entry>::iterator> by_name_;
    std::list<Entry*> kept_; ///< those that are answered, oldest answer first
    std::size_t bytes_ = 0;

    struct Remembered {
        Deadline until;
        std::uint64_t name = 0; ///< a hash: names are random, and of 64 bits no two are the same
    };

    std::deque<Remembered> remembered_; ///< oldest first
    std::unordered_set<std::uint64_t> remembered_names_;
};

} // namespace berth::guest
