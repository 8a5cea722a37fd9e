"""Addresses of the pages of courses."""

from __future__ import annotations

from django.urls import path

from web.api.routing import native
from web.courses import announcement_views as announcements
from web.courses import api
from web.courses import assignment_views as assignments
from web.courses import marks_views as marks
from web.courses import people_views as people
from web.courses import team_views as teams
from web.courses import views as courses

ASSIGNMENTS = "courses/<slug:course>/assignments/"

pages = [
    path("courses/", courses.courses, name="courses"),
    path("courses/add/", courses.add, name="course_add"),
    path("courses/join/<str:token>/", people.join, name="course_join"),
    path("courses/team/<str:token>/", teams.join, name="team_join"),
    path("courses/work-as/", teams.work_as, name="work_as"),
    path("courses/<slug:course>/", courses.course, name="course"),
    path("courses/<slug:course>/settings/", courses.change, name="course_change"),
    path("courses/<slug:course>/news/", announcements.write, name="course_news"),
    path("courses/<slug:course>/people/", people.people, name="course_people"),
    path("courses/<slug:course>/people/add/", people.class_list, name="course_class"),
    path("courses/<slug:course>/people/remind/", people.remind, name="course_remind"),
    path("courses/<slug:course>/people/link/", people.link, name="course_link"),
    path("courses/<slug:course>/people/<int:member_id>/", people.member, name="course_member"),
    path("courses/<slug:course>/people/<int:member_id>/code/", people.code, name="course_code"),
    path("courses/<slug:course>/people/extend/", assignments.extend_to, name="course_extend"),
    path("courses/<slug:course>/people/team/", teams.move, name="course_move"),
    path("courses/<slug:course>/teams/", teams.teams, name="course_teams"),
    path("courses/<slug:course>/teams/add/", teams.add, name="team_add"),
    path("courses/<slug:course>/teams/<int:team_id>/", teams.change, name="team_change"),
    path("courses/<slug:course>/copy/<int:tournament_id>/", courses.copy, name="course_copy"),
    path("courses/<slug:course>/marks/", marks.marks, name="course_marks"),
    path("courses/<slug:course>/marks.csv", marks.marks_csv, name="course_marks_csv"),
    path(ASSIGNMENTS + "add/", assignments.add, name="assignment_add"),
    path(ASSIGNMENTS + "<int:assignment_id>/", assignments.assignment, name="assignment"),
    path(ASSIGNMENTS + "<int:assignment_id>/settings/", assignments.change, name="assignment_change"),
    path(ASSIGNMENTS + "<int:assignment_id>/copy/", assignments.copy, name="assignment_copy"),
    path(ASSIGNMENTS + "<int:assignment_id>/delete/", assignments.delete, name="assignment_delete"),
    path(ASSIGNMENTS + "<int:assignment_id>/people/<int:member_id>/", assignments.person, name="assignment_person"),
    path(
        ASSIGNMENTS + "<int:assignment_id>/people/<int:member_id>/marks/",
        assignments.person_mark,
        name="assignment_mark",
    ),
]

routes = [
    *native("courses/<slug:course>/marks/", api.Marks, "course_marks"),
    *native(ASSIGNMENTS + "<int:assignment_id>/board/", api.ClassBoards, "assignment_board"),
]
