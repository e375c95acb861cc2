// The part of the keeper that sees to it that one server at a time tells what the books have
// untold: with two that told it an agent would hear twice what it has to act on once.

#include "sandbox/base/error.hpp"
#include "sandbox/session/machine_keeper.hpp"

#include <exception>
#include <memory>
#include <utility>

namespace berth::session {

/// Null: another server has the right, or nobody can give it, which is no reason to tell nothing.
Untold::Teller MachineKeeper::claim_telling(const std::string& key, const Untold& taken,
                                            bool& others_tell) const
{
    others_tell = false;
    if (taken.teller() && taken.teller()->holds()) {
        return taken.teller();
    }
    try {
        Untold::Right right{.here = host_.claim_telling(key), .everywhere = nullptr};
        others_tell = right.here == nullptr;
        if (!others_tell && registry_.is_shared() && !backend_.is_bound_to_host()) {
            right.everywhere = registry_.claim(key); // which a session with a name has no use for
            others_tell = right.everywhere == nullptr;
        }
        return others_tell ? nullptr : std::make_shared<const Untold::Right>(std::move(right));
    } catch (const std::exception&) {
        return nullptr; // told twice rather than never
    }
}

Untold MachineKeeper::take_untold(const std::string& key, bool knows, const Untold& taken,
                                  Told& told, bool& others_tell)
{
    auto teller = claim_telling(key, taken, others_tell);
    if (others_tell) {
        return {};
    }
    // What was read of it before that may have been told since.
    const auto record = registry_.find(key);
    return record ? Untold(*record, knows, told, std::move(teller), taken) : Untold();
}

void MachineKeeper::take_untold(const Wanted& wanted, const Record& record, bool knows,
                                Obtained& obtained)
{
    if (has_untold(record)) {
        obtained.untold =
            take_untold(wanted.key, knows, wanted.taken, obtained.told, obtained.others_tell);
    } else {
        host_.clear_telling(wanted.key);
    }
}

/// Of a machine that is being made: its news are this server's to tell, whoever tells the rest.
void MachineKeeper::take_news(const Wanted& wanted, const Record& record, Obtained& obtained) const
{
    if (!has_untold(record)) {
        return;
    }
    auto teller = claim_telling(wanted.key, wanted.taken, obtained.others_tell);
    auto mine = record;
    if (obtained.others_tell) {
        mine.untold.clear(); // asked for again
    }
    obtained.untold = Untold(mine, /*knows=*/false, obtained.told, std::move(teller), wanted.taken);
}

Untold MachineKeeper::take_untold(const std::string& key, const Untold& taken, Told& told,
                                  bool& others_tell) noexcept
{
    try {
        return take_untold(key, /*knows=*/false, taken, told, others_tell);
    } catch (const std::exception&) {
        others_tell = true; // asked for again
        return {};
    }
}

} // namespace berth::session
