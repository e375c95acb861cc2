#include "server/http/operator_books.hpp"

#include "sandbox/base/error.hpp"
#include "server/log.hpp"

#include <exception>
#include <utility>

namespace berth::server::http {

/// Until when a home is kept is told by what is in force, not by what was.
void OperatorBooks::follow(Books& books, const std::string& backend)
{
    auto now = settings_.options();
    if (now == books.changed_to) {
        return;
    }
    try {
        books.sessions.change(backend == making_.options->backend
                                  ? now->sessions
                                  : maker_.options_on(backend).sessions);
    } catch (const Error& error) { // they are open, and can be looked at and ended all the same
        log::write(log::Level::warning, "what operators see follows no changed settings",
                   {{"backend", backend}, {"error", error.what()}});
    }
    books.changed_to = std::move(now);
}

Books& OperatorBooks::of(const std::string& backend)
{
    const auto name = backend.empty() ? making_.options->backend : backend;
    const std::lock_guard lock(mutex_);
    auto& known = books_[name];
    if (!known) {
        try {
            auto options =
                name == making_.options->backend ? *making_.options : maker_.options_on(name);
            options.sessions.collects = false; // the server does it for all
            making_.tell_of_sessions(options.sessions, options.workspace);
            auto of_it = maker_.backend_of(options);
            known = std::make_unique<Books>(std::move(options), std::move(of_it));
        } catch (...) {
            books_.erase(name); // names that are made up take no room
            throw;
        }
    }
    follow(*known, name);
    return *known;
}

std::vector<session::SessionManager*> OperatorBooks::others() noexcept
{
    std::vector<session::SessionManager*> found;
    try {
        for (const auto& backend : maker_.other_backends()) {
            try {
                found.push_back(&of(backend).sessions);
            } catch (const Error& error) {
                log::write(log::Level::warning, "sessions of callers cannot be looked after",
                           {{"backend", backend}, {"error", error.what()}});
            }
        }
    } catch (const std::exception&) { // no memory: they are asked for again
        return found;
    }
    return found;
}

} // namespace berth::server::http
