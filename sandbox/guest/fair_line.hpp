#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace berth::guest {

/// Who asks for what there is too little of, and who had the last turn. Not thread-safe.
class Askers {
  public:
    struct Asker {
        std::uint64_t last_turn = 0; ///< 0: it had none yet
    };

    using Handle = std::shared_ptr<Asker>;

    Handle find(const std::string& name)
    {
        if (known_.size() > many) {
            // One that had none for so long is as good as new; one that waits keeps its place.
            std::erase_if(known_, [this](const auto& each) {
                return each.second.use_count() == 1 && each.second->last_turn + remembered < turns_;
            });
        }
        auto& asker = known_[name];
        if (!asker) {
            asker = std::make_shared<Asker>();
        }
        return asker;
    }

    void took_turn(Asker& asker) noexcept { asker.last_turn = ++turns_; }

    /// For whatever waits in any line, in the order in which it came.
    [[nodiscard]] std::uint64_t next_number() noexcept { return ++numbers_; }

  private:
    static constexpr std::size_t many = 64;
    static constexpr std::uint64_t remembered = 1024;

    std::map<std::string, Handle> known_;
    std::uint64_t turns_ = 0;
    std::uint64_t numbers_ = 0;
};

/// A line in which those who wait take turns: next is the first that came of whoever had no turn
/// for the longest. However much one asks for, another waits for one turn of each. Not thread-safe.
template <class Item>
class FairLine {
    struct Waiting {
        std::uint64_t number;
        Askers::Handle asker;
        Item item;

        [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> rank() const
        {
            return {asker->last_turn, number};
        }
    };

    using Line = std::list<Waiting>; // takes no memory while nobody waits, as is nearly always

  public:
    /// So many wait at most, and beyond them one of each who has none there, up to as many again.
    explicit FairLine(std::size_t most) : most_(most) {}

    /// False, and nothing is taken, when the line is full.
    [[nodiscard]] bool push(Askers& askers, const std::string& name, Item&& item)
    {
        const auto asker = askers.find(name);
        const auto is_theirs = [&](const Waiting& each) { return each.asker == asker; };
        if (waiting_.size() >= 2 * most_ ||
            (waiting_.size() >= most_ && std::ranges::any_of(waiting_, is_theirs))) {
            return false;
        }
        waiting_.push_back({askers.next_number(), asker, std::move(item)});
        return true;
    }

    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

    [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }

    /// Of whose turn it is: the least goes first, also of several lines that have their askers in
    /// common. Only while there is one.
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> rank() const { return next()->rank(); }

    /// Whose turn it is, and takes it. Only while there is one.
    [[nodiscard]] Item pop(Askers& askers)
    {
        const auto found = next();
        askers.took_turn(*found->asker);
        return remove(found);
    }

    /// Out of turn: the first that `is_wanted`.
    template <class Predicate>
    [[nodiscard]] std::optional<Item> take(Predicate is_wanted)
    {
        const auto found = std::ranges::find_if(waiting_, is_wanted, &Waiting::item);
        return found == waiting_.end() ? std::nullopt : std::optional<Item>(remove(found));
    }

    template <class Predicate>
    [[nodiscard]] bool contains(Predicate is_wanted) const
    {
        return std::ranges::any_of(waiting_, is_wanted, &Waiting::item);
    }

    /// The one that came last goes.
    void drop_newest() { waiting_.pop_back(); }

    void clear() noexcept { waiting_.clear(); }

  private:
    [[nodiscard]] typename Line::iterator next()
    {
        return std::ranges::min_element(waiting_, {}, &Waiting::rank);
    }

    [[nodiscard]] typename Line::const_iterator next() const
    {
        return std::ranges::min_element(waiting_, {}, &Waiting::rank);
    }

    Item remove(const typename Line::iterator& found)
    {
        Item item = std::move(found->item);
        waiting_.erase(found);
        return item;
    }

    std::size_t most_;
    Line waiting_; ///< as they came
};

} // namespace berth::guest
