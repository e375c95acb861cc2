// What a sandbox asks the stub of a filtered network, and its proxy in SOCKS.

#include "sandbox/filter/name_question.hpp"

#include "sandbox/filter/socks.hpp"
#include "tests/fuzz/target.hpp"

#include <cstddef>
#include <string>

BERTH_FUZZ_TARGET(name_question)
{
    using berth::fuzz::require;
    using namespace berth::filter;
    if (const auto question = read_name_question(input)) {
        constexpr std::size_t head = 12;
        const auto& refusal = question->refusal;
        require(refusal.size() <= input.size() && refusal.substr(0, 2) == input.substr(0, 2) &&
                    refusal.substr(head) == input.substr(head, refusal.size() - head),
                "a refusal has the question and no more");
        require(!read_name_question(refusal), "a refusal is no question");
        require(question->name.size() < 256, "a name has its length");
    }
    if (const auto size = socks::size_of_greeting(input); size && *size <= input.size()) {
        require(socks::choose(input.substr(0, *size)).answer.size() == 2, "a greeting is answered");
    }
    if (const auto size = socks::size_of_request(input); size && *size <= input.size()) {
        const auto wanted = socks::read_request(input.substr(0, *size));
        if (wanted.target) {
            const auto again = target_of(wanted.target->name, wanted.target->port);
            require(again && again->to_text() == wanted.target->to_text(),
                    "a target is what its text is");
        }
    }
}
