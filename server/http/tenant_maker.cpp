#include "server/http/tenant_maker.hpp"

#include "server/application.hpp"
#include "server/options/profiles.hpp"

#include <utility>

namespace berth::server::http {

namespace {

/// A session whose record is in the books of one folder and whose home is in another would have
/// lost its files once the server was started anew.
RawValues kept_of(const Options& options)
{
    RawValues kept;
    for (const auto& [key, value] : options.written) {
        if (!is_of_profiles(key) && !is_live(key)) {
            kept.emplace(key, value);
        }
    }
    return kept;
}

} // namespace

TenantMaker::TenantMaker(const Making& making, LiveSettings& settings, Observers observers)
    : making_(making), settings_(settings), kept_(kept_of(*making.options)),
      observers_(std::move(observers))
{
}

/// Not as the file is now: while it is being written it says nothing, which is not to forbid
/// nothing.
Given TenantMaker::server_given() const
{
    auto given = making_.given;
    given.is_server = false; // its session is the caller's, whatever the environment says
    given.file = settings_.options()->file;
    given.kept = kept_;
    return given;
}

Given TenantMaker::given_of(const Caller& caller, const std::string& session) const
{
    auto given = server_given();
    given.session = session;
    given.kept.erase("principal");
    given.values["principal"] = {{caller.principal}, caller.origin};
    for (const auto& [key, value] : caller.settings) {
        given.kept.erase(key);
        given.values[key] = {{value}, caller.origin};
    }
    return given;
}

std::shared_ptr<sandbox::Backend> TenantMaker::backend_of(const Options& options)
{
    const std::lock_guard lock(mutex_);
    if (options.backend == making_.options->backend) {
        return making_.backend;
    }
    auto& known = backends_[options.backend];
    if (!known) {
        const auto other = others_.find(options.backend);
        known = making_.composition.make_backend(other == others_.end() ? options : *other->second);
    }
    return known;
}

std::unique_ptr<Application> TenantMaker::make(const Caller& caller, const std::string& session)
{
    const auto given = given_of(caller, session);
    auto options = make_options(given, process_environment());
    options.sessions.collects = false; // the server does it for all
    making_.tell_of_sessions(options.sessions, options.workspace);
    making_.composition.check(options);
    note_backend(options); // the caller was checked when his profile may have had another
    auto backend = backend_of(options);
    making_.required->insist(options, *backend); // a profile has a network of its own
    auto live = std::make_unique<LiveSettings>(given, process_environment(), options,
                                               making_.tell_of_settings, making_.check_on(backend));
    return std::make_unique<Application>(std::move(options), std::move(backend), std::move(live),
                                         observers_, making_.composition.extend);
}

Options TenantMaker::options_on(const std::string& backend) const
{
    auto given = server_given();
    given.only_looks = true;
    given.kept["backend"] = {{backend}, "asked by an operator"}; // also where it is locked
    return make_options(given, process_environment());
}

void TenantMaker::note_backend(const Options& options)
{
    const std::lock_guard lock(mutex_);
    if (options.backend != making_.options->backend && !others_.contains(options.backend)) {
        others_.emplace(options.backend, std::make_shared<const Options>(options));
    }
}

void TenantMaker::check(const Caller& caller)
{
    auto given = given_of(caller, "default");
    given.only_looks = true; // folders are looked for when a session needs them
    note_backend(make_options(given, process_environment()));
}

std::set<std::string> TenantMaker::other_backends()
{
    const std::lock_guard lock(mutex_);
    std::set<std::string> names;
    for (const auto& [name, options] : others_) {
        names.insert(name);
    }
    return names;
}

} // namespace berth::server::http
