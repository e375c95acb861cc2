#include "sandbox/guest/exec/forgotten_outcomes.hpp"
#include "sandbox/guest/exec/outcome.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::guest::Outcome;

TEST_SUITE("guest/exec/outcome")
{
    TEST_CASE("of a job the end is expected until somebody has read it")
    {
        Outcome outcome;
        CHECK(outcome.is_expected(true));
        CHECK_FALSE(outcome.end()); // its server is here, and asks
        CHECK_FALSE(outcome.unseen().is_set());
        outcome.set_read();
        CHECK_FALSE(outcome.is_expected(true));
        CHECK_FALSE(outcome.leave(/*over=*/true));
        CHECK_FALSE(outcome.unseen().is_set());
    }

    TEST_CASE("whose server has gone is unseen once it has ended")
    {
        Outcome ended;
        CHECK(ended.leave(/*over=*/true));
        CHECK(ended.unseen().is_set());
        CHECK(ended.is_expected(true));
        CHECK_FALSE(ended.leave(/*over=*/true)); // it is already

        Outcome running;
        CHECK_FALSE(running.leave(/*over=*/false));
        CHECK_FALSE(running.unseen().is_set());
        CHECK(running.end());
        CHECK(running.unseen().is_set());
    }

    TEST_CASE("who asks for it knows of it, and keeps it")
    {
        Outcome outcome;
        outcome.set_keeper("one");
        CHECK_FALSE(outcome.leave(/*over=*/false));
        outcome.known_to("other");
        CHECK(outcome.keeper() == "other");
        CHECK_FALSE(outcome.end());
        outcome.known_to({}); // a server that tells no name
        CHECK(outcome.keeper() == "other");
    }

    TEST_CASE("an end that was shown to who looked at all there is is told")
    {
        Outcome outcome;
        outcome.shown();
        CHECK_FALSE(outcome.is_expected(true));
        CHECK_FALSE(outcome.leave(/*over=*/true));
        CHECK_FALSE(outcome.is_read()); // what it printed may still be asked for
        Outcome unseen;
        unseen.cut_off();
        unseen.shown();
        CHECK(unseen.unseen().is_known());
        CHECK_FALSE(unseen.leave(/*over=*/true));
    }

    TEST_CASE("the number of those that are remembered no longer waits for who knows of them")
    {
        berth::guest::ForgottenOutcomes forgotten;
        Outcome known;
        known.set_keeper("one");
        forgotten.add(known);
        forgotten.add(known);
        Outcome others;
        others.set_keeper("other");
        forgotten.add(others);
        forgotten.add(Outcome()); // of a server that told no name
        Outcome read;
        read.set_read();
        forgotten.add(read);
        CHECK(forgotten.expected() == 4);
        CHECK(forgotten.untold() == 0);
        CHECK_FALSE(forgotten.leave([](const std::string&) { return true; }));
        CHECK(forgotten.leave([](const std::string& server) { return server != "one"; }));
        CHECK(forgotten.expected() == 2);
        CHECK(forgotten.untold() == 2);
        CHECK(forgotten.lend(1)); // and while somebody is about to tell it, counts as that
        CHECK(forgotten.lent() == 2);
        forgotten.settle(1, /*told=*/true);
        CHECK(forgotten.lent() == 0);
    }

    TEST_CASE("an end that was told is not told again, whoever leaves")
    {
        Outcome outcome;
        CHECK(outcome.leave(/*over=*/true));
        CHECK(outcome.lend(1, /*over=*/true));
        CHECK_FALSE(outcome.leave(/*over=*/true)); // somebody is about to tell it
        outcome.settle(1, /*told=*/false, "other");
        CHECK(outcome.unseen().is_set());
        CHECK(outcome.lend(2, /*over=*/true));
        outcome.settle(2, /*told=*/true, "other");
        CHECK_FALSE(outcome.is_expected(true));
        CHECK_FALSE(outcome.leave(/*over=*/true));
        CHECK_FALSE(outcome.is_read()); // what it printed may still be asked for
    }

    TEST_CASE("of one that was cut off the end is expected once somebody was told that it runs")
    {
        Outcome outcome;
        outcome.cut_off();
        CHECK(outcome.unseen().is_set());
        CHECK_FALSE(outcome.is_expected(true));
        CHECK(outcome.lend(1, /*over=*/false));
        outcome.settle(1, /*told=*/true, "other");
        CHECK(outcome.is_expected(true));
        CHECK_FALSE(outcome.unseen().is_set());

        Outcome other;
        other.cut_off();
        other.tell_marked(/*over=*/false);
        CHECK(other.is_expected(true));
        CHECK_FALSE(other.unseen().is_set());
    }

    TEST_CASE("what an answered command has left running is expected for as long as it runs")
    {
        Outcome outcome;
        outcome.set_told();
        CHECK(outcome.is_expected(false));
        CHECK_FALSE(outcome.is_expected(true));
        CHECK_FALSE(outcome.leave(/*over=*/false));
        CHECK_FALSE(outcome.end());
        outcome.cut_off(); // the answer did not arrive
        CHECK(outcome.lend(1, /*over=*/false));
        outcome.settle(1, /*told=*/true, "other");
        CHECK(outcome.is_expected(true));
    }

    TEST_CASE("whoever is told that it runs knows of it, whenever it ends")
    {
        Outcome outcome;
        outcome.set_keeper("one");
        outcome.cut_off();
        CHECK_FALSE(outcome.leave(/*over=*/false));
        CHECK(outcome.lend(1, /*over=*/false));
        CHECK_FALSE(outcome.end()); // as lent
        outcome.settle(1, /*told=*/true, "other");
        CHECK(outcome.keeper() == "other");
        CHECK_FALSE(outcome.unseen().is_set());
        CHECK(outcome.is_expected(true)); // for the machine's end
        CHECK(outcome.leave(/*over=*/true));
        CHECK(outcome.unseen().is_set());
    }

    TEST_CASE("an answer on its way again is no outcome that nobody saw")
    {
        Outcome outcome;
        CHECK_FALSE(outcome.await_again());
        outcome.cut_off();
        CHECK(outcome.await_again());
        CHECK_FALSE(outcome.unseen().is_set());
        CHECK(outcome.is_expected(true));
    }

    TEST_CASE("one that somebody is about to tell comes back where that fails, whoever asks again")
    {
        Outcome outcome;
        outcome.cut_off();
        CHECK(outcome.lend(1, /*over=*/true));
        CHECK_FALSE(outcome.await_again());
        outcome.settle(1, /*told=*/false, "other");
        CHECK(outcome.unseen().is_set());
    }
}
