// A request with the placeholder of a secret in it: to the one place of that secret it goes with
// the value, and to no other.

#include "sandbox/filter/request.hpp"
#include "sandbox/filter/secret_replacing.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

#include <string>
#include <string_view>

namespace {

using namespace berth::filter; // NOLINT(google-build-using-namespace): all that is looked at
using berth::fuzz::require;

constexpr std::string_view placeholder = "PLACE";
constexpr std::string_view value = "A/Value Of-The+Operator";

std::size_t count(std::string_view text, std::string_view word)
{
    std::size_t found = 0;
    for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        ++found;
    }
    return found;
}

bool has_placeholder(const Request& request)
{
    bool found = request.path.find(placeholder) != std::string::npos;
    for (const auto& field : request.fields) {
        found = found || field.value.find(placeholder) != std::string::npos;
    }
    return found;
}

void check(Request request, const SecretBook& book, bool is_tls)
{
    const bool had_value = head_of(request).find(value) != std::string::npos;
    const bool had_placeholder = has_placeholder(request);
    const bool is_place = book.is_place(request.target, is_tls);
    const auto denial = put_secrets_in(request, book.replacements(request.target, is_tls));
    const auto head = head_of(request);
    if (!is_place) {
        require(had_value || head.find(value) == std::string::npos, "no value goes elsewhere");
        require(denial || !had_placeholder, "nor does a placeholder");
    } else {
        const bool misplaced =
            denial && denial->reason.find("where no value is put") != std::string::npos;
        require(misplaced || (!denial && !has_placeholder(request)),
                "in its place the value is known");
    }
    require(end_of_head(head) == head.size() && count(head, "\r\nHost: ") == 1,
            "one request goes on, to one host");
    require(!denial || (denial->reason + denial->remedy).find(value) == std::string::npos,
            "no denial has the value");
}

} // namespace

BERTH_FUZZ_TARGET(secret_request)
{
    static SecretBook book({{.name = "TOKEN",
                             .placeholder = std::string(placeholder),
                             .places = {"http://a.example?", "https://b.example"}}});
    book.set("TOKEN", value);
    const auto end = end_of_head(input);
    if (end == std::string_view::npos) {
        return;
    }
    const auto target = target_of("b.example", 443);
    try {
        check(read_request_to(input.substr(0, end), target.value()), book, /*is_tls=*/true);
    } catch (const BadRequest& bad) {
        require(bad.status >= 400 && bad.status < 600 && !bad.reason.empty(), "a request is wrong");
    }
    try {
        const auto request = read_request(input.substr(0, end));
        if (request.form == Request::Form::plain) {
            check(request, book, /*is_tls=*/false);
        }
    } catch (const BadRequest& bad) {
        require(bad.status >= 400 && bad.status < 600 && !bad.reason.empty(), "a request is wrong");
    }
}
