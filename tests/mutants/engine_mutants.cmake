# Defects that once were here and can be switched on again (include/duramen/detail/mutant.hpp), and the test that fails
# then. docs/internals/promises.md says which promise each of them broke.
#
# engine_mutant(<mutant> <test executable> <gtest filter> [ONLY address|thread])
#   ONLY: what the defect does is undefined behaviour, which only that sanitizer is sure to see.
engine_mutant(simulation_skips_ended_executions simulation_test Nondeterminism.AClockInAnInstanceThatEndedIsFound)
engine_mutant(simulation_accepts_nondeterminism simulation_test Nondeterminism.AnInstanceThatFailedOfItIsFound)
engine_mutant(keeps_the_last_resident runtime_test Orchestrations.WithoutResidentInstancesEveryTurnReplays)
engine_mutant(the_end_reads_a_frame_given_away runtime_test CoroutineLifetime.ACoroutineMayEndOnAThreadOfTheUsers ONLY thread)
engine_mutant(the_end_frees_waiting_frames runtime_test CoroutineLifetime.AFrameThatWaitsInTheUsersCodeOutlivesTheRuntimeAndMayUseItsContext)
engine_mutant(activity_link_stays_open runtime_test CoroutineLifetime.AFrameThatWaitsInTheUsersCodeOutlivesTheRuntimeAndMayUseItsContext ONLY address)
engine_mutant(fencing_token_is_constant scenarios_test */Fencing.EveryLaterAttemptHasAGreaterToken/*)
engine_mutant(a_log_sink_may_throw runtime_test PluggedIn.ALogSinkThatThrowsStopsNothing)
engine_mutant(metrics_may_throw runtime_test PluggedIn.MetricsThatThrowStopNothing)
