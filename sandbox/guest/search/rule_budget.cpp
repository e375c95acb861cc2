#include "sandbox/guest/search/rule_budget.hpp"

namespace berth::guest::search {

namespace {

std::atomic<std::size_t> process_used = 0;

bool take_of(std::atomic<std::size_t>& used, std::size_t weight, std::size_t limit) noexcept
{
    if (used.fetch_add(weight) + weight <= limit) {
        return true;
    }
    used -= weight;
    return false;
}

} // namespace

bool RuleBudget::take(std::size_t weight) noexcept
{
    if (!take_of(used_, weight, max_of_walk)) {
        return false;
    }
    if (!take_of(process_used, weight, max_of_process)) {
        used_ -= weight;
        return false;
    }
    return true;
}

void RuleBudget::give_back(std::size_t weight) noexcept
{
    used_ -= weight;
    process_used -= weight;
}

} // namespace berth::guest::search
