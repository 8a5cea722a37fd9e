from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0001_initial'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='build',
            name='build_cancelled_has_code',
        ),
        migrations.RemoveConstraint(
            model_name='duel',
            name='duel_cancelled_has_code',
        ),
        migrations.RemoveConstraint(
            model_name='evaluation',
            name='evaluation_cancelled_has_code',
        ),
        migrations.RemoveConstraint(
            model_name='publication',
            name='publication_cancelled_has_code',
        ),
        migrations.RemoveConstraint(
            model_name='recording',
            name='recording_cancelled_has_code',
        ),
        migrations.RemoveConstraint(
            model_name='validation',
            name='validation_cancelled_has_code',
        ),
        migrations.AddField(
            model_name='ratingpool',
            name='looked_at',
            field=models.DateTimeField(help_text='When it was last asked whether other versions have a rank.', null=True),
        ),
        migrations.AddField(
            model_name='ratingpool',
            name='looked_version',
            field=models.PositiveBigIntegerField(default=0, help_text='Version of the ledger at that time.'),
        ),
        migrations.AddField(
            model_name='alarm',
            name='worker',
            field=models.CharField(blank=True, help_text='The worker that has the problem; its end settles the alarm.', max_length=100),
        ),
        migrations.AlterField(
            model_name='build',
            name='cancel_code',
            field=models.CharField(blank=True, choices=[('by_owner', 'by its owner'), ('by_organiser', 'by an organiser'), ('owner_banned', "its owner's account was closed"), ('agent_disabled', 'its agent was disabled'), ('quarantined', 'a player was paused for crashing'), ('player_barred', 'a player may no longer take part'), ('player_left', 'a player left the tournament'), ('submission_deleted', 'its submission was deleted'), ('superseded', 'newer work takes its place'), ('result_struck', 'a result that it depended on was struck'), ('test_over', 'the test of a version is over'), ('tournament_over', 'its tournament is over'), ('not_public', 'there is nothing to publish'), ('environment_retired', 'its environment is no longer part of the arena')], editable=False, max_length=20),
        ),
        migrations.AlterField(
            model_name='duel',
            name='cancel_code',
            field=models.CharField(blank=True, choices=[('by_owner', 'by its owner'), ('by_organiser', 'by an organiser'), ('owner_banned', "its owner's account was closed"), ('agent_disabled', 'its agent was disabled'), ('quarantined', 'a player was paused for crashing'), ('player_barred', 'a player may no longer take part'), ('player_left', 'a player left the tournament'), ('submission_deleted', 'its submission was deleted'), ('superseded', 'newer work takes its place'), ('result_struck', 'a result that it depended on was struck'), ('test_over', 'the test of a version is over'), ('tournament_over', 'its tournament is over'), ('not_public', 'there is nothing to publish'), ('environment_retired', 'its environment is no longer part of the arena')], editable=False, max_length=20),
        ),
        migrations.AlterField(
            model_name='evaluation',
            name='cancel_code',
            field=models.CharField(blank=True, choices=[('by_owner', 'by its owner'), ('by_organiser', 'by an organiser'), ('owner_banned', "its owner's account was closed"), ('agent_disabled', 'its agent was disabled'), ('quarantined', 'a player was paused for crashing'), ('player_barred', 'a player may no longer take part'), ('player_left', 'a player left the tournament'), ('submission_deleted', 'its submission was deleted'), ('superseded', 'newer work takes its place'), ('result_struck', 'a result that it depended on was struck'), ('test_over', 'the test of a version is over'), ('tournament_over', 'its tournament is over'), ('not_public', 'there is nothing to publish'), ('environment_retired', 'its environment is no longer part of the arena')], editable=False, max_length=20),
        ),
        migrations.AlterField(
            model_name='publication',
            name='cancel_code',
            field=models.CharField(blank=True, choices=[('by_owner', 'by its owner'), ('by_organiser', 'by an organiser'), ('owner_banned', "its owner's account was closed"), ('agent_disabled', 'its agent was disabled'), ('quarantined', 'a player was paused for crashing'), ('player_barred', 'a player may no longer take part'), ('player_left', 'a player left the tournament'), ('submission_deleted', 'its submission was deleted'), ('superseded', 'newer work takes its place'), ('result_struck', 'a result that it depended on was struck'), ('test_over', 'the test of a version is over'), ('tournament_over', 'its tournament is over'), ('not_public', 'there is nothing to publish'), ('environment_retired', 'its environment is no longer part of the arena')], editable=False, max_length=20),
        ),
        migrations.AlterField(
            model_name='recording',
            name='cancel_code',
            field=models.CharField(blank=True, choices=[('by_owner', 'by its owner'), ('by_organiser', 'by an organiser'), ('owner_banned', "its owner's account was closed"), ('agent_disabled', 'its agent was disabled'), ('quarantined', 'a player was paused for crashing'), ('player_barred', 'a player may no longer take part'), ('player_left', 'a player left the tournament'), ('submission_deleted', 'its submission was deleted'), ('superseded', 'newer work takes its place'), ('result_struck', 'a result that it depended on was struck'), ('test_over', 'the test of a version is over'), ('tournament_over', 'its tournament is over'), ('not_public', 'there is nothing to publish'), ('environment_retired', 'its environment is no longer part of the arena')], editable=False, max_length=20),
        ),
        migrations.AlterField(
            model_name='validation',
            name='cancel_code',
            field=models.CharField(blank=True, choices=[('by_owner', 'by its owner'), ('by_organiser', 'by an organiser'), ('owner_banned', "its owner's account was closed"), ('agent_disabled', 'its agent was disabled'), ('quarantined', 'a player was paused for crashing'), ('player_barred', 'a player may no longer take part'), ('player_left', 'a player left the tournament'), ('submission_deleted', 'its submission was deleted'), ('superseded', 'newer work takes its place'), ('result_struck', 'a result that it depended on was struck'), ('test_over', 'the test of a version is over'), ('tournament_over', 'its tournament is over'), ('not_public', 'there is nothing to publish'), ('environment_retired', 'its environment is no longer part of the arena')], editable=False, max_length=20),
        ),
        migrations.AddConstraint(
            model_name='build',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('cancel_code__in', ['by_owner', 'by_organiser', 'owner_banned', 'agent_disabled', 'quarantined', 'player_barred', 'player_left', 'submission_deleted', 'superseded', 'result_struck', 'test_over', 'tournament_over', 'not_public', 'environment_retired']), ('state', 'CANCELLED')), models.Q(models.Q(('state', 'CANCELLED'), _negated=True), ('cancel_code', '')), _connector='OR'), name='build_cancelled_has_code'),
        ),
        migrations.AddConstraint(
            model_name='duel',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('cancel_code__in', ['by_owner', 'by_organiser', 'owner_banned', 'agent_disabled', 'quarantined', 'player_barred', 'player_left', 'submission_deleted', 'superseded', 'result_struck', 'test_over', 'tournament_over', 'not_public', 'environment_retired']), ('state', 'CANCELLED')), models.Q(models.Q(('state', 'CANCELLED'), _negated=True), ('cancel_code', '')), _connector='OR'), name='duel_cancelled_has_code'),
        ),
        migrations.AddConstraint(
            model_name='evaluation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('cancel_code__in', ['by_owner', 'by_organiser', 'owner_banned', 'agent_disabled', 'quarantined', 'player_barred', 'player_left', 'submission_deleted', 'superseded', 'result_struck', 'test_over', 'tournament_over', 'not_public', 'environment_retired']), ('state', 'CANCELLED')), models.Q(models.Q(('state', 'CANCELLED'), _negated=True), ('cancel_code', '')), _connector='OR'), name='evaluation_cancelled_has_code'),
        ),
        migrations.AddConstraint(
            model_name='publication',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('cancel_code__in', ['by_owner', 'by_organiser', 'owner_banned', 'agent_disabled', 'quarantined', 'player_barred', 'player_left', 'submission_deleted', 'superseded', 'result_struck', 'test_over', 'tournament_over', 'not_public', 'environment_retired']), ('state', 'CANCELLED')), models.Q(models.Q(('state', 'CANCELLED'), _negated=True), ('cancel_code', '')), _connector='OR'), name='publication_cancelled_has_code'),
        ),
        migrations.AddConstraint(
            model_name='recording',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('cancel_code__in', ['by_owner', 'by_organiser', 'owner_banned', 'agent_disabled', 'quarantined', 'player_barred', 'player_left', 'submission_deleted', 'superseded', 'result_struck', 'test_over', 'tournament_over', 'not_public', 'environment_retired']), ('state', 'CANCELLED')), models.Q(models.Q(('state', 'CANCELLED'), _negated=True), ('cancel_code', '')), _connector='OR'), name='recording_cancelled_has_code'),
        ),
        migrations.AddConstraint(
            model_name='validation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('cancel_code__in', ['by_owner', 'by_organiser', 'owner_banned', 'agent_disabled', 'quarantined', 'player_barred', 'player_left', 'submission_deleted', 'superseded', 'result_struck', 'test_over', 'tournament_over', 'not_public', 'environment_retired']), ('state', 'CANCELLED')), models.Q(models.Q(('state', 'CANCELLED'), _negated=True), ('cancel_code', '')), _connector='OR'), name='validation_cancelled_has_code'),
        ),
    ]
