#include "sandbox/guest/search/required_literals.hpp"

#include "sandbox/base/utf8.hpp"

#include <algorithm>
#include <utility>

namespace berth::guest::search {

namespace {

constexpr std::size_t max_literals = 64;
constexpr int max_depth = 50;

using Literals = std::optional<RequiredLiterals>;

bool is_digit(char c) noexcept
{
    return c >= '0' && c <= '9';
}

bool is_word(char c) noexcept
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::size_t shortest(const RequiredLiterals& literals)
{
    return std::ranges::min(literals.any_of, {}, &std::string::size).size();
}

/// Longer strings are rarer; each string more makes the search a little slower.
bool is_better(const Literals& candidate, const Literals& best)
{
    if (!candidate || !best) {
        return candidate.has_value();
    }
    return shortest(*candidate) * 8 > shortest(*best) * 8 + candidate->any_of.size();
}

class Parser {
  public:
    explicit Parser(std::string_view pattern) : pattern_(pattern) {}

    Literals parse()
    {
        Literals found = alternation(0);
        return clever_ || at_ != pattern_.size() ? std::nullopt : std::move(found);
    }

  private:
    /// What one atom of a concatenation contributes.
    struct Atom {
        std::optional<std::string> text; ///< exactly this
        Literals inner;                  ///< of a group
    };

    struct Repeat {
        bool present = false;
        bool may_be_absent = false;
    };

    [[nodiscard]] bool done() const noexcept { return at_ >= pattern_.size(); }

    [[nodiscard]] char peek() const noexcept { return pattern_[at_]; }

    bool accept(char c) noexcept
    {
        const bool is = !done() && peek() == c;
        at_ += is ? 1 : 0;
        return is;
    }

    Literals alternation(int depth)
    {
        RequiredLiterals all{.any_of = {}, .whole = true};
        bool known = true;
        do {
            Literals branch = concatenation(depth);
            known = known && branch.has_value();
            if (known) {
                all.whole = all.whole && branch->whole;
                std::ranges::move(branch->any_of, std::back_inserter(all.any_of));
                known = all.any_of.size() <= max_literals;
            }
        } while (!clever_ && accept('|'));
        return known ? Literals(std::move(all)) : std::nullopt;
    }

    Literals concatenation(int depth)
    {
        Literals best;
        std::string run;
        bool whole = true;
        const auto flush = [&] {
            whole = false;
            if (!run.empty()) {
                Literals candidate = RequiredLiterals{.any_of = {std::exchange(run, {})}};
                if (is_better(candidate, best)) {
                    best = std::move(candidate);
                }
            }
        };
        while (!clever_ && !done() && peek() != '|' && peek() != ')') {
            Atom atom = next_atom(depth);
            const Repeat repeat = next_repeat();
            if (atom.text && !repeat.present) {
                run += *atom.text;
                continue;
            }
            if (atom.text && !repeat.may_be_absent) {
                run += *atom.text;
            }
            flush();
            if (!repeat.may_be_absent && is_better(atom.inner, best)) {
                best = std::move(atom.inner);
                best->whole = false;
            }
        }
        if (whole && !run.empty()) {
            return RequiredLiterals{.any_of = {std::move(run)}, .whole = true};
        }
        flush();
        return best;
    }

    Atom next_atom(int depth)
    {
        switch (peek()) {
        case '(':
            return group(depth);
        case '[':
            skip_class();
            return {};
        case '\\':
            return escape();
        case '.':
        case '^':
        case '$':
            ++at_;
            return {};
        default: {
            const std::size_t size =
                std::max<std::size_t>(utf8::character_length(pattern_.substr(at_)), 1);
            at_ += size;
            return {.text = std::string(pattern_.substr(at_ - size, size)), .inner = {}};
        }
        }
    }

    Atom group(int depth)
    {
        ++at_;
        if (accept('?')) {
            if (accept('P')) {
                at_ = std::min(pattern_.find('>', at_), pattern_.size() - 1) + 1;
            } else if (!accept(':')) {
                clever_ = true; // flags change the meaning of what follows
            }
        }
        clever_ = clever_ || depth == max_depth;
        Atom atom;
        if (!clever_) {
            atom.inner = alternation(depth + 1);
            clever_ = clever_ || !accept(')');
        }
        return atom;
    }

    Atom escape()
    {
        ++at_;
        if (done()) {
            clever_ = true;
            return {};
        }
        const char c = peek();
        ++at_;
        if (!is_word(c) && static_cast<unsigned char>(c) < 0x80) {
            return {.text = std::string(1, c), .inner = {}};
        }
        // Classes, anchors and control characters take no argument; the rest is left alone.
        clever_ = std::string_view("dDsSwWbBAzntrfv").find(c) == std::string_view::npos;
        return {};
    }

    void skip_class()
    {
        ++at_;
        accept('^');
        accept(']');
        while (!done() && peek() != ']') {
            if (pattern_.substr(at_).starts_with("[:")) {
                const std::size_t end = pattern_.find(":]", at_ + 2);
                at_ = end == std::string_view::npos ? at_ + 1 : end + 2;
            } else {
                at_ += peek() == '\\' ? 2U : 1U;
            }
        }
        clever_ = clever_ || !accept(']');
    }

    Repeat next_repeat()
    {
        Repeat repeat;
        for (;;) {
            if (accept('*') || accept('?')) {
                repeat = {.present = true, .may_be_absent = true};
            } else if (accept('+')) {
                repeat.present = true;
            } else if (!done() && peek() == '{' && at_ + 1 < pattern_.size() &&
                       is_digit(pattern_[at_ + 1])) {
                repeat.present = true;
                // {0} and {0,n}; for a '{' that is text after all this forgets a literal: allowed.
                repeat.may_be_absent = repeat.may_be_absent || pattern_[at_ + 1] == '0';
                skip_counts(repeat);
            } else {
                return repeat;
            }
        }
    }

    void skip_counts(Repeat& repeat)
    {
        ++at_;
        while (!done() && (is_digit(peek()) || peek() == ',')) {
            ++at_;
        }
        if (!accept('}')) {
            repeat.may_be_absent = true;
            clever_ = true;
        }
    }

    std::string_view pattern_;
    std::size_t at_ = 0;
    bool clever_ = false;
};

} // namespace

std::optional<RequiredLiterals> required_literals(std::string_view pattern)
{
    return Parser(pattern).parse();
}

} // namespace berth::guest::search
