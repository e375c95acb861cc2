#include "sandbox/session/machine_end.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/host_time.hpp"

namespace berth::session {

namespace {

/// A note of the guest's own, or of who ended it. Without one nobody did, however long it was not
/// used: clients that are there and jobs are use, of which the books know nothing.
Event noted_event(const Record& record, protocol::Parting parting)
{
    switch (parting) {
    case protocol::Parting::unused:
        return Event::expired;
    case protocol::Parting::left:
        return Event::left;
    case protocol::Parting::retired:
        return Event::retired;
    case protocol::Parting::asked:
        return Event::end;
    case protocol::Parting::none:
        break;
    }
    return used_since_boot(record) ? Event::gone : Event::restarted;
}

} // namespace

Event gone_event(const Record& record, std::chrono::seconds default_ttl, bool attended,
                 std::optional<protocol::Parting> parting, bool bound)
{
    if (record.ending) {
        return Event::end;
    }
    if (parting) {
        return noted_event(record, *parting);
    }
    if (!attended && !record.unnamed && record.made_with &&
        record.made_with->on_disconnect == protocol::OnDisconnect::kill) {
        return Event::left;
    }
    const auto ttl = record.made_with ? record.made_with->ttl : default_ttl;
    const auto by_date = [&] {
        return std::chrono::system_clock::now() - record.last_used > ttl ? Event::expired
                                                                         : Event::gone;
    };
    if (!record.used) { // of a release that noted the date alone
        return by_date();
    }
    const auto passed = passed_since(*record.used, HostTime::now());
    if (!passed) { // what is on no host was used on another, or before this one restarted
        return bound ? Event::restarted : by_date();
    }
    return *passed >= ttl ? Event::expired : Event::gone;
}

bool used_since_boot(const Record& record)
{
    if (record.used) {
        return record.used->boot == boot_id();
    }
    const auto up = BootClock::now().time_since_epoch();
    return std::chrono::system_clock::now() - record.last_used < up;
}

} // namespace berth::session
