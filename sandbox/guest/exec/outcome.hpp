#pragma once

#include "sandbox/guest/exec/unseen_mark.hpp"

#include <string>
#include <utility>

namespace berth::guest {

/// Who knows of a command how it ends. Outlives the command, with what it printed.
class Outcome {
  public:
    /// See JobEntry::unseen.
    [[nodiscard]] const UnseenMark& unseen() const noexcept { return unseen_; }

    /// See JobEntry::expected.
    [[nodiscard]] bool is_expected(bool over) const noexcept
    {
        return !cut_off_ && (!over || (!read_ && !told_));
    }

    /// Whoever asked for it was told that it has ended, and how.
    [[nodiscard]] bool is_read() const noexcept { return read_; }

    void set_read() noexcept { read_ = true; }

    /// How its shell ended its call's answer tells; what goes on is what that left running.
    void set_told() noexcept { told_ = true; }

    /// The server whose client knows of it; empty: it has told no name.
    [[nodiscard]] const std::string& keeper() const noexcept { return keeper_; }

    void set_keeper(std::string server) { keeper_ = std::move(server); }

    /// The connection of its answer ended before that.
    void cut_off() noexcept
    {
        cut_off_ = true;
        told_ = false;
        unseen_.set();
    }

    /// Its answer is on its way again. False: somebody was told meanwhile, or is being told, and
    /// gives it back where that fails.
    bool await_again() noexcept
    {
        if (!unseen_.is_set()) {
            return false;
        }
        (void)unseen_.clear();
        cut_off_ = false;
        return true;
    }

    /// Somebody asks for it: that server's client.
    void known_to(const std::string& server)
    {
        (void)unseen_.clear();
        cut_off_ = left_ = false;
        if (!server.empty()) {
            keeper_ = server;
        }
    }

    /// Its keeper is not here any more. `over`: it has ended. True: its end is one that nobody has
    /// seen, from now on.
    bool leave(bool over) noexcept
    {
        left_ = true;
        return over && end();
    }

    /// It has ended now; the same.
    bool end() noexcept
    {
        if (!left_ || !is_expected(/*over=*/true) || !unseen_.is_known()) {
            return false;
        }
        unseen_.set();
        return true;
    }

    /// The mark goes to whoever tells it, as it is: that it runs, or how it ended.
    bool lend(UnseenMark::Claim to, bool over) noexcept
    {
        if (!unseen_.lend(to)) {
            return false;
        }
        lent_over_ = over;
        return true;
    }

    /// As UnseenMark::settle. Of one that was told to run that server's client knows from then on.
    void settle(UnseenMark::Claim of, bool told, const std::string& server)
    {
        const bool is_told = told && unseen_.lent_to() == of;
        unseen_.settle(of, told);
        if (is_told && lent_over_) {
            tell(true);
        } else if (is_told) {
            known_to(server);
        }
    }

    /// It has ended, and somebody who looked at all there is was shown how.
    void shown() noexcept
    {
        tell(/*over=*/true);
        (void)unseen_.clear();
    }

    /// All that is marked is told.
    void tell_marked(bool over) noexcept
    {
        if (unseen_.is_set()) {
            tell(over);
            (void)unseen_.clear();
        }
    }

  private:
    void tell(bool over) noexcept
    {
        cut_off_ = false;
        told_ = told_ || over;
    }

    UnseenMark unseen_;
    std::string keeper_;
    bool lent_over_ = false; ///< it had ended when its mark was lent
    bool cut_off_ = false;   ///< nobody knows that it was begun
    bool left_ = false;      ///< whoever knew has gone
    bool read_ = false;
    bool told_ = false; ///< how it ended, in a notice or an answer
};

} // namespace berth::guest
