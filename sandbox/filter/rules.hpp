#pragma once

#include "sandbox/filter/address.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::filter {

/// Where somebody wants to go.
struct Target {
    std::string name; ///< in small letters; of an address that in its usual form
    std::optional<Address> address;
    std::uint16_t port = 0;

    /// With its port, as a Denial has it.
    [[nodiscard]] std::string to_text() const;
};

/// A name, or an address, an IPv6 one in brackets or not. Nothing for what is neither: names have
/// letters, digits, `-` and `_` in labels of 63 at most and no dot at their end, and the last label
/// is none of the numbers that libraries take for an address (0x7f.1, 2130706433). One that is not
/// of ASCII has to come as its client would ask the DNS for it (xn--…).
[[nodiscard]] std::optional<Target> target_of(std::string_view host, std::uint16_t port);

/// 1 to 65535, in digits alone.
[[nodiscard]] std::optional<std::uint16_t> port_of(std::string_view digits);

/// One line of filter.allow or filter.deny:
///
///     example.com   *.example.com   *   203.0.113.7   2001:db8::/32   with :443, :8000-8100 or :*
///
/// IPv6 with ports stands in brackets. `*.example.com` is every name below example.com and not
/// itself; `*` every name, and no address that is asked for as one.
struct Rule {
    enum class Kind : std::uint8_t { name, below, any_name, range };

    Kind kind = Kind::name;
    std::string name; ///< of `below` with its first dot
    Range range{};
    std::uint16_t first_port = 0;
    std::uint16_t last_port = 0;
    bool usual_ports = false; ///< 80 and 443: none were said of what is allowed

    [[nodiscard]] bool has_port(std::uint16_t port) const noexcept;
    [[nodiscard]] bool has_name(std::string_view wanted) const noexcept;
};

/// Throws Error(invalid_argument) that says what is wrong with it. `allows`: of filter.allow.
[[nodiscard]] Rule parse_rule(std::string_view text, bool allows);

void require_rule(std::string_view text, bool allows);

/// Of filter.private. Throws the same, also of what can never be opened.
void require_inner_range(std::string_view text);

/// All of them. What is denied counts first, then what an address is, then what is allowed.
class Rules {
  public:
    /// Throws Error(invalid_argument).
    Rules(const std::vector<std::string>& allow, const std::vector<std::string>& deny,
          const std::vector<std::string>& inner);

    /// Before a name is resolved, and for an address that is asked for as one all there is to say.
    /// Nothing: it may go on.
    [[nodiscard]] std::optional<protocol::Denial> judge(const Target& target) const;

    /// A rule allows it by this very name, rather than by `*` or what is above it.
    [[nodiscard]] bool names(const Target& target) const noexcept;

    /// What a name that may go on stands for on this host: what is denied counts.
    [[nodiscard]] std::optional<protocol::Denial> judge_full_name(const Target& target,
                                                                  std::string_view name) const;

    /// What a name that may go on has resolved to.
    [[nodiscard]] std::optional<protocol::Denial> judge_resolved(const Target& target,
                                                                 const Address& address) const;

  private:
    [[nodiscard]] std::optional<protocol::Denial> judge_place(const Target& target,
                                                              const Address& address) const;

    std::vector<Rule> allow_;
    std::vector<Rule> deny_;
    std::vector<Range> inner_;
};

} // namespace berth::filter
