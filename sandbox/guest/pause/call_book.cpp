#include "sandbox/guest/pause/call_book.hpp"

namespace berth::guest {

CallBook::Ticket::Ticket(CallBook& book, std::string_view what)
    : book_(book), entry_(book.calls_.emplace(book.calls_.end(), what))
{
}

CallBook::Ticket::~Ticket()
{
    book_.calls_.erase(entry_);
    book_.ended_();
}

} // namespace berth::guest
