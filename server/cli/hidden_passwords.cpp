#include "server/cli/hidden_passwords.hpp"

namespace berth::server::cli {

std::string hide_passwords(std::string_view text)
{
    constexpr std::string_view mark = "://";
    // So an address is described to who has it wrong: no password.
    constexpr std::string_view form = "[USER[:PASSWORD]@]";
    std::string shown;
    for (auto found = text.find(mark); found != std::string_view::npos; found = text.find(mark)) {
        const auto begin = found + mark.size();
        shown += text.substr(0, begin);
        text.remove_prefix(begin);
        if (text.starts_with(form)) {
            shown += form;
            text.remove_prefix(form.size());
        }
        const auto address = text.substr(0, text.find_first_of(" \t\r\n\"'`"));
        const auto colon = address.find(':');
        const auto at = address.rfind('@');
        if (colon < at && at != std::string_view::npos) {
            shown += text.substr(0, colon + 1);
            shown += "***";
            text.remove_prefix(at);
        }
    }
    return shown.append(text);
}

} // namespace berth::server::cli
