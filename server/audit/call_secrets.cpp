#include "server/audit/call_secrets.hpp"

#include "server/rpc/error.hpp"
#include "server/rpc/json_reader.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace berth::server {
namespace {

using nlohmann::json;

/// Keeps so many bytes at most: what a client sends could be taken into millions of pieces.
class Guesses {
  public:
    explicit Guesses(CallSecrets& found) : found_(found) {}

    void add(std::string_view value)
    {
        constexpr std::size_t most = std::size_t{1} << 20U;
        bytes_ += value.size() + sizeof(std::string);
        if (bytes_ > most) {
            found_.are_all = false;
        } else {
            found_.values.emplace_back(value);
        }
    }

    void guess(const json& value)
    {
        if (value.is_string()) {
            guess_in(value.get_ref<const std::string&>());
        } else if (value.is_number()) {
            add(value.dump());
        } else if (value.is_structured()) {
            for (const auto& element : value) {
                guess(element);
            }
        }
    }

  private:
    /// `NAME=value`, a line of them each, or JSON that was written as a text once too often. The
    /// marks may be a part of the value: so it counts with and without them.
    void guess_in(const std::string& text)
    {
        add(text);
        for_each_piece(text, "\r\n", [this](std::string_view line) {
            add(line);
            if (const auto equal = line.find('='); equal != std::string_view::npos) {
                add(line.substr(equal + 1));
            }
        });
        for_each_piece(text, " \t\r\n\"'`,;:=(){}[]", [this](std::string_view word) { add(word); });
        try {
            if (const auto inner = rpc::read_json(text, {}); inner.is_structured()) {
                guess(inner);
            }
        } catch (const rpc::ProtocolError&) { // it is none
            return;
        }
    }

    /// All that is between two of `marks`, until there is enough.
    template <class Take>
    void for_each_piece(std::string_view text, std::string_view marks, const Take& take) const
    {
        std::size_t from = 0;
        while (from < text.size() && found_.are_all) {
            const auto end = std::min(text.find_first_of(marks, from), text.size());
            if (end > from) {
                take(text.substr(from, end - from));
            }
            from = end + 1;
        }
    }

    CallSecrets& found_;
    std::size_t bytes_ = 0;
};

/// As bash_exec takes one. In others there may be a value, as in `TOKEN=value` with nothing behind.
bool may_be_a_name(const std::string& text)
{
    return std::ranges::none_of(text,
                                [](unsigned char c) { return c == '=' || c <= ' ' || c == 0x7f; });
}

} // namespace

CallSecrets secrets_of_call(const json& arguments)
{
    CallSecrets found;
    if (!arguments.is_object()) {
        return found;
    }
    Guesses guesses(found);
    // By its other name too: arguments that cannot be understood keep it.
    for (const auto* const name : {"env", "environment"}) {
        const auto env = arguments.find(name);
        if (env == arguments.end()) {
            continue;
        }
        if (!env->is_object()) {
            guesses.guess(*env);
            continue;
        }
        for (const auto& [variable, value] : env->items()) {
            if (may_be_a_name(variable)) {
                found.names.push_back(variable);
            } else {
                guesses.guess(variable);
            }
            if (value.is_string()) {
                guesses.add(value.get_ref<const std::string&>());
            } else {
                guesses.guess(value);
            }
        }
    }
    return found;
}

} // namespace berth::server
