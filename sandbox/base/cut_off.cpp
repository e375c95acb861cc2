#include "sandbox/base/cut_off.hpp"

namespace berth {
namespace {

constexpr const char* arrived_as = "cut_off.arrived_as";

} // namespace

Error with_cut_off(Error error, const CutOff& cut_off)
{
    error.with_detail(arrived_as, std::string(cut_off.arrived_as));
    error.with_detail("cut_off.certain", cut_off.certain ? "true" : "false");
    if (cut_off.bytes) {
        error.with_detail("cut_off.bytes", std::to_string(*cut_off.bytes));
    }
    if (!cut_off.argument.empty()) {
        error.with_detail("cut_off.argument", cut_off.argument);
    }
    return error;
}

bool tells_cut_off(const Error& error)
{
    return error.details().contains(arrived_as);
}

} // namespace berth
